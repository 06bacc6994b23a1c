import { wholeSeconds } from '../base/duration.ts';
import { type IdOf, isKind, KINDS, type Kind } from '../notification/kinds.ts';
import type { NotificationOf } from '../notification/payload.ts';

/** Members of a notification to deliver; what is not given is filled in. */
export type MembersOf<K extends Kind> = {
  readonly [name in Exclude<keyof NotificationOf<K>, 'event'>]?: string;
};

/** A notification of some kind, in the order in which such things happen. */
export type Happening = { [K in Kind]: readonly [kind: K, members?: MembersOf<K>] }[Kind];

/** The site of all notifications that name no other. */
export const SITE = 'site0001';

/** The ids of a notification whose test does not care. */
const IDS: { readonly [name in IdOf<Kind>]: string } = {
  media_id: 'media001',
  thumbnail_id: 'thumb001',
  track_id: 'track001',
  channel_id: 'channel1',
};

/** A notification as the provider writes it. @param at when it happened, milliseconds since the epoch */
export function notificationOf(
  kind: string,
  members: Readonly<Record<string, unknown>>,
  { at, webhookId }: { readonly at: number; readonly webhookId: string },
): Readonly<Record<string, unknown>> {
  const names = isKind(kind) ? KINDS[kind].ids : [];
  const ids = Object.fromEntries(names.map((name) => [name, IDS[name]]));
  const common = { webhook_id: webhookId, site_id: SITE, event_time: wholeSeconds(at) };
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return { event: kind, ...ids, ...common, ...Object.fromEntries(given) };
}
