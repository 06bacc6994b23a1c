import { z } from 'zod';
import { within } from '../../base/clock.ts';
import { Refused } from '../guard/refuse.ts';
import { type Endpoint, endpoint, type Inspected } from './endpoint.ts';
import {
  event,
  eventDetailAnswer,
  eventIdText,
  events,
  eventsAnswer,
  filterOf,
  filterShape,
  isRestricted,
} from './events.ts';
import { countReplay, replayOne } from './replays.ts';
import * as reports from './reports.ts';
import { stats, statsAnswer } from './stats.ts';

/** A switch as JSON and as query strings and forms have it. */
const flag = z
  .union([z.boolean(), z.stringbool({ truthy: ['true', '1', 'on'], falsy: ['false', '0', ''] })])
  .default(false);

const nothing = z.object({});
const oneEvent = z.object({ id: eventIdText });

/** How long a request waits for the end of a bulk replay. */
const LONGEST_ANSWER_MS = 10_000;

const bulkReplayAnswer = z.object({
  dry_run: z.boolean(),
  events: z.int().min(0).describe('how many events were reset, or would be'),
  next: z.string().nullable().describe('the `before` with which to go on counting; null if all were counted'),
  replay: z
    .string()
    .optional()
    .describe('present while the replay is under way: the same request with it says how far it is'),
});

/** Every route of the API but the stream and the OpenAPI description. */
export function endpointsOf(inspected: Inspected): readonly Endpoint[] {
  return [
    endpoint({
      path: '/events',
      summary: 'Events, newest first: by event time if a resource is given, else as received.',
      input: z.object({
        ...filterShape,
        before: eventIdText.optional(),
        limit: z.coerce.number().int().min(1).max(500).default(50),
      }),
      answer: eventsAnswer,
      run: ({ before, limit, ...filters }) => events(inspected, filterOf(filters), { after: before, limit }),
    }),
    endpoint({
      method: 'post',
      path: '/events/replay',
      summary:
        'Replays all matching events: resets them to pending, and their handlers run again. With very many, the answer comes before the ' +
        'end, with `replay`. One replay at a time: 409 while another is under way. 503 if it was cut short; the error says where to go on.',
      input: z.object({
        ...filterShape,
        before: eventIdText.optional().describe('goes on at the `next` of an answer'),
        dry_run: flag.describe('only count'),
        reset_steps: flag.describe('forget the stored results of ctx.once'),
        all: flag.describe('must be true if no filter is given'),
        replay: z
          .string()
          .regex(/^[\w-]{8,64}$/)
          .optional()
          .describe(
            'an id for this replay; a request with a known id starts no replay, and says how far that one is',
          ),
      }),
      answer: bulkReplayAnswer,
      run: async ({ before, dry_run, reset_steps, all, replay, ...filters }) => {
        const filter = filterOf(filters);
        if (dry_run) return { dry_run, ...(await countReplay(inspected, filter, before)) };
        if (!all && !isRestricted(filter)) throw new Refused(400, 'say which events: a filter, or all: true');
        const { replays, clock } = inspected;
        const progress = replays.start({ filter, before, resetSteps: reset_steps }, replay);
        if (!progress.isOver) await within(clock, LONGEST_ANSWER_MS, replays.idle);
        const { id, events, last, problem, isOver } = progress;
        if (problem === undefined) return { dry_run, events, next: null, ...(!isOver && { replay: id }) };
        const goOn = last === undefined ? 'the same request' : `the same request with "before": "${last}"`;
        throw new Refused(
          503,
          `the replay was cut short after ${events} events (${problem}): ${goOn} goes on`,
        );
      },
    }),
    endpoint({
      path: '/events/:id',
      summary:
        'One event with its attempts, its finished steps, the state of its resource, and the other events of its resource.',
      input: oneEvent,
      answer: eventDetailAnswer,
      run: ({ id }) => event(inspected, id),
    }),
    endpoint({
      method: 'post',
      path: '/events/:id/replay',
      summary: 'Replays one event: resets it to pending, and its handler runs again.',
      input: oneEvent.extend({ reset_steps: flag }),
      answer: z.object({ replayed: z.int().min(0), id: z.string() }),
      run: async ({ id, reset_steps }) => ({ id, replayed: await replayOne(inspected, id, reset_steps) }),
    }),
    endpoint({
      path: '/channels',
      summary: 'Live channels with their state by their newest event, the latest change first.',
      input: reports.channelsQuery,
      answer: reports.channelsAnswer,
      run: (query) => reports.channels(inspected, query),
    }),
    endpoint({
      path: '/rejections',
      summary: 'The last 200 requests that this process refused, with the reasons, newest first.',
      input: nothing,
      answer: reports.rejectionsAnswer,
      run: () => reports.rejections(inspected),
    }),
    endpoint({
      path: '/quarantine',
      summary: 'Notifications that wait for a secret which verifies them.',
      input: nothing,
      answer: reports.quarantineAnswer,
      run: () => reports.quarantine(inspected),
    }),
    endpoint({
      path: '/webhooks',
      summary: 'Webhooks with a stored secret; the secrets themselves are not shown.',
      input: nothing,
      answer: reports.webhooksAnswer,
      run: () => reports.webhooks(inspected),
    }),
    endpoint({
      path: '/stats',
      summary: 'Counts, times and rates.',
      input: nothing,
      answer: statsAnswer,
      run: () => stats(inspected),
    }),
  ];
}
