import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import { MOMENTS, momentOf } from '../../base/duration.ts';
import { groupNames, kindsMeant } from '../../notification/kinds.ts';
import type { EventFilter, Search } from '../../store/event-store.ts';
import { eventJson, wholeEventJson } from '../../store/queue/lists/event-json.ts';
import { EVENT_ID, RESOURCE, STATUSES, WAITING } from '../../store/stored.ts';
import { RefusedError } from '../guard/refuse.ts';
import type { Inspected } from './endpoint.ts';

const upTo = (length: number) => z.string().min(1).max(length);
const text = upTo(200);

/** An event's id. */
export const eventIdText = z
  .string()
  .regex(EVENT_ID, 'is not an event id')
  .meta({ examples: ['lsbxnu20-0123456789abcdef0123', 'lsbxnu20-0123456789abcdef0123@search'] });

/** A time in a request, parsed to milliseconds since the epoch. */
export const momentText = z.string().transform((text, { addIssue }) => {
  const time = momentOf(text, systemClock.now());
  if (time === undefined) addIssue(`must be ${MOMENTS}`);
  return time ?? z.NEVER;
});

const optional = <S extends z.ZodType>(schema: S, about: string) => schema.optional().describe(about);

/** Filters of events. An empty value counts as absent, since forms send every field. */
export const filterShape = {
  kind: optional(
    text,
    `media_available; a group: ${groupNames.join(', ')}; reminder; schedule:NAME; unknown:NAME; unknown: for those without a kind`,
  ),
  status: z.enum(STATUSES).optional(),
  waiting: optional(z.enum(WAITING), 'why it waits; a replay of pending events takes failed by default'),
  site: text.optional(),
  resource: optional(
    text.regex(RESOURCE, 'must be media:ID or channel:ID, or else as the list of events shows it'),
    'media:ID or channel:ID',
  ),
  subscriber: optional(
    text.regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be main, all or the name of a subscriber'),
    'whose events: a subscriber, main for the handlers without a name, or all. A replay or dismissal of many needs it where there are subscribers',
  ),
  webhook: text.optional(),
  since: optional(momentText, `happened at or after ${MOMENTS}`),
  until: optional(momentText, 'happened before then'),
  q: optional(text, 'a text in the body, or the id of its request'),
  error: optional(upTo(300), 'the first line of its last error, in which * stands for anything'),
} as const;

type Filters = z.output<z.ZodObject<typeof filterShape>>;

/** @throws RefusedError if the times leave nothing between them */
export function filterIn(given: Filters): EventFilter {
  const { kind, since, until, subscriber: whose } = given;
  if (since !== undefined && until !== undefined && since >= until)
    throw new RefusedError(400, 'since must be before until');
  const subscriber = whose === 'main' ? '' : whose === 'all' ? undefined : whose;
  return { ...given, subscriber, kind: kind && (kindsMeant(kind) ?? kind) };
}

/** `next` is the `before` of the next page. A search that finds less than `limit` events may not have looked at all events yet. */
export async function events({ store }: Pick<Inspected, 'store'>, search: Search) {
  const found = await store.queue.search(search);
  return { events: found.events.map(eventJson), next: found.next ?? null };
}

/** How many events of the same resource are shown on either side of one. */
const NEIGHBOURS = 5;

/** One event with all that belongs to it, and up to five events of its resource on either side. */
export async function event({ store }: Inspected, { id }: { readonly id: string }) {
  const found = await wholeEventJson(store, id);
  if (!found) throw new RefusedError(404, 'there is no such event');
  const { resource, subscriber } = found;
  const beside = { filter: { resource, subscriber }, after: id, reach: NEIGHBOURS, limit: NEIGHBOURS };
  const { events: newer } = await events({ store }, { ...beside, order: 'oldest' });
  const { events: older } = await events({ store }, beside);
  const around = [...newer.toReversed(), found, ...older];
  const timeline = around.map((one) => {
    const { id, kind, event_time, handled_at, status } = one;
    return { id, kind, event_time, handled_at, status };
  });
  return { ...found, timeline };
}
