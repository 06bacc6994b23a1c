import { z } from 'zod';
import { type IdOf, isKind, KINDS, type Kind, kindNames } from './kinds.ts';

/** A notification of kind K as the provider sends it: exactly these members. */
export type NotificationOf<K extends Kind> = {
  readonly event: K;
  readonly webhook_id: string;
  readonly site_id: string;
  /** ISO 8601 with an offset, whole seconds: `2024-08-27T00:20:57+00:00` */
  readonly event_time: string;
} & { readonly [Id in IdOf<K>]: string };

/** Any known notification, told apart by `event`. */
export type Notification = { [K in Kind]: NotificationOf<K> }[Kind];

/** A verified notification of a kind that this version does not know. */
export type UnknownNotification = { readonly [member: string]: unknown };

/** A notification's body, sorted by kind. */
export type Payload =
  | { readonly type: 'known'; readonly notification: Notification }
  | { readonly type: 'unknown'; readonly notification: UnknownNotification; readonly kind: string }
  | { readonly type: 'invalid'; readonly kind: Kind; readonly problem: string };

const LONGEST_ID = 200;
// Control characters and halves of surrogate pairs cannot be stored as text alike in every database.
const STORABLE = /^[^\p{Cc}\p{Cs}]*$/u;

const id = z.string().min(1).max(LONGEST_ID).regex(STORABLE, 'must not contain control characters');

const eventTime = z.iso.datetime({ offset: true, error: 'must be an ISO 8601 date and time with an offset' });

const common = { webhook_id: id, site_id: id, event_time: eventTime };

const schemas = Object.fromEntries(
  kindNames.map((kind) => {
    const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, id]));
    return [kind, z.looseObject({ event: z.literal(kind), ...common, ...ids })];
  }),
) as unknown as Record<Kind, z.ZodType<Notification>>;

/**
 * Sorts a body into known, unknown or invalid. Members beyond those of the specification are let through.
 * @param body the parsed JSON object
 */
export function parsePayload(body: { readonly [member: string]: unknown }): Payload {
  const kind = body.event;
  if (!isKind(kind))
    return { type: 'unknown', notification: body, kind: typeof kind === 'string' ? kind : '' };
  const parsed = schemas[kind].safeParse(body);
  if (parsed.success) return { type: 'known', notification: body as unknown as Notification };
  const problem = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
  return { type: 'invalid', kind, problem };
}

/**
 * The subject of a notification, `media:ID` or `channel:ID`; events of one resource are handled one at a time. A known kind
 * says which of the two it is about, whatever else the body has; of an unknown kind, `media_id` goes before `channel_id`.
 * @returns undefined if the body does not name it by an id that can be stored
 */
export function resourceOf(body: { readonly [member: string]: unknown }): string | undefined {
  const { event, media_id, channel_id } = body;
  const group = isKind(event) ? KINDS[event].group : undefined;
  if (group !== 'channels' && id.safeParse(media_id).success) return `media:${media_id}`;
  const isOfChannel = group === 'channels' || group === undefined;
  return isOfChannel && id.safeParse(channel_id).success ? `channel:${channel_id}` : undefined;
}

/** The event time in milliseconds since the epoch; undefined if the body has none. */
export function eventTimeOf(body: { readonly [member: string]: unknown }): number | undefined {
  const { success, data } = eventTime.safeParse(body.event_time);
  const time = success ? Date.parse(data) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
