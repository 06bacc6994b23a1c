import { z } from 'zod';
import { type IdOf, isKind, KINDS, type Kind } from './kinds.ts';

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

const LONGEST_ID = 200;
// Control characters and halves of surrogate pairs cannot be stored as text alike in every database.
const STORABLE = /^[^\p{Cc}\p{Cs}]*$/u;
const DATE_TIME = z.regexes.datetime({ offset: true });

const isId = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_ID && STORABLE.test(value);

const NO_ID = `must be a text of 1 to ${LONGEST_ID} characters, without control characters`;
const NO_TIME = 'must be an ISO 8601 date and time with an offset';

/**
 * What is wrong with a notification of a known kind; undefined if nothing is, or if its kind is unknown. Members beyond those of the
 * specification are let through.
 * @param body the parsed JSON object
 */
export function problemIn(body: UnknownNotification): string | undefined {
  if (!isKind(body.event)) return undefined;
  const ids = ['webhook_id', 'site_id', ...KINDS[body.event].ids].filter((name) => !isId(body[name]));
  const problems = ids.map((name) => `${name}: ${NO_ID}`);
  if (eventTimeOf(body) === undefined) problems.push(`event_time: ${NO_TIME}`);
  return problems.length > 0 ? problems.join('; ') : undefined;
}

/**
 * The subject of a notification, `media:ID` or `channel:ID`; events of one resource are handled one at a time. A known kind
 * says which of the two it is about, whatever else the body has; of an unknown kind, `media_id` goes before `channel_id`.
 * @returns undefined if the body does not name it by an id that can be stored
 */
export function resourceOf(body: { readonly [member: string]: unknown }): string | undefined {
  const { event, media_id, channel_id } = body;
  const group = isKind(event) ? KINDS[event].group : undefined;
  if (group !== 'channels' && isId(media_id)) return `media:${media_id}`;
  const isOfChannel = group === 'channels' || group === undefined;
  return isOfChannel && isId(channel_id) ? `channel:${channel_id}` : undefined;
}

/** The event time in milliseconds since the epoch; undefined if the body has none. */
export function eventTimeOf(body: { readonly [member: string]: unknown }): number | undefined {
  const { event_time: text } = body;
  return typeof text === 'string' && DATE_TIME.test(text) ? Date.parse(text) : undefined;
}
