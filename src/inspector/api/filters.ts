import { z } from 'zod';
import { groupNames, kindsMeant } from '../../notification/kinds.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { isEventId, RESOURCE, STATUSES } from '../../store/stored.ts';
import { Refused } from '../guard/refuse.ts';

const text = z.string().min(1).max(200);

/** An event's id. */
export const eventIdText = z
  .string()
  .refine((id) => isEventId(id), 'is not an event id')
  .meta({ pattern: '^-?[0-9a-z]{1,11}-[0-9a-f]{20}$', examples: ['lsbxnu20-0123456789abcdef0123'] });

/** A time in a request: a date, or a date and time with an offset. Parsed to milliseconds since the epoch. */
const moment = z
  .union(
    [
      z.iso.datetime({ offset: true }),
      z.iso.datetime({ local: true }).transform((text) => `${text}Z`),
      z.iso.date(),
    ],
    'must be a date, or a date and a time, such as 2026-11-19 or 2026-11-19T14:00',
  )
  .transform((text) => Date.parse(text))
  .describe('2026-11-19, 2026-11-19T14:00 or 2026-11-19T14:00:00+01:00; UTC without an offset');

/** Filters of events. An empty value counts as absent, since forms send every field. */
export const filterShape = {
  kind: text
    .optional()
    .describe(
      `such as media_available; all of a group: ${groupNames.join(', ')}; the name of a kind that this version does not know, or ` +
        'unknown:NAME where that is the name of a group; unknown: for what names no kind',
    ),
  status: z.enum(STATUSES).optional(),
  site: text.optional(),
  resource: text
    .regex(
      RESOURCE,
      'must be media:ID or channel:ID, such as media:UUhbHm6C, or else as the list of events shows it',
    )
    .optional()
    .describe('media:ID or channel:ID'),
  webhook: text.optional(),
  since: moment.optional().describe('happened then or later; an event without an event_time did not'),
  until: moment.optional().describe('happened before then; an event without an event_time did not'),
  q: text.optional().describe('a text in the body'),
} as const;

type Filters = z.output<z.ZodObject<typeof filterShape>>;

/** @throws Refused if the times leave nothing between them */
export function filterOf({ kind, status, site, resource, webhook, since, until, q }: Filters): EventFilter {
  if (since !== undefined && until !== undefined && since >= until)
    throw new Refused(400, 'since must be before until');
  return { kind: kind && (kindsMeant(kind) ?? kind), status, site, resource, webhook, since, until, q };
}

export function isRestricted(filter: EventFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}
