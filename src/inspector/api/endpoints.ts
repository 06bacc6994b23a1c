import { z } from 'zod';
import { within } from '../../base/clock.ts';
import { plural } from '../../base/text.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import { isAway } from '../../store/queue/lists/event-json.ts';
import { stats } from '../attention/attention.ts';
import { RefusedError } from '../guard/refuse.ts';
import { type Endpoint, endpoint, flag, type Inspected } from './endpoint.ts';
import { event, eventIdText, events, filterIn, filterShape } from './events.ts';
import { receivedOf, receivedQuery } from './received.ts';
import * as reports from './reports.ts';
import { series } from './stats.ts';
import { type Change, changeOne, countFor } from './verbs.ts';
import { webhooks } from './webhooks.ts';

const oneEvent = z.object({ id: eventIdText });

/** Why events are dismissed, or handling is paused. */
export const reasonText = z.string().trim().min(1).max(500);

const bulkInput = z.object({
  ...filterShape,
  dry_run: flag.describe('only count'),
  all: flag.describe('must be true if no filter is given'),
  id: z
    .string()
    .regex(/^[\w-]{8,64}$/)
    .optional()
    .describe('a name for this request; one with a known name starts nothing, and says how far that one is'),
});

const BULK =
  'With very many, the answer comes before the end, with `id`: the same request with it says how far it is. 409 while another is under way.';

/** How long a request waits for the end of a verb for many events. */
const LONGEST_ANSWER_MS = 10_000;

/** Does a verb for all events that match, or only counts them. */
async function bulk(inspected: Inspected, given: z.output<typeof bulkInput>, wanted: Change) {
  const { dry_run, all, id, ...filters } = given;
  const filter = filterIn(filters);
  if (dry_run) {
    const { events, isAll } = await countFor(wanted.verb, inspected, filter);
    return { dry_run, events, more: !isAll };
  }
  if (!all && Object.values(filter).every((value) => value === undefined))
    throw new RefusedError(400, 'say which events: a filter, or all: true');
  const { verbs, clock } = inspected;
  const progress = verbs.start(filter, wanted, id);
  if (!progress.isOver) await within(clock, LONGEST_ANSWER_MS, verbs.idle);
  const { events, problem, isOver } = progress;
  if (problem === undefined) return { dry_run, events, more: false, ...(!isOver && { id: progress.id }) };
  throw new RefusedError(
    503,
    `it was cut short after ${plural(events, 'event')} (${problem}): ask again for the rest`,
  );
}

/** Every route of the API but the stream and the OpenAPI description. */
export function endpointsOf(inspected: Inspected): readonly Endpoint[] {
  const { store, config, clock, wake } = inspected;
  return [
    endpoint({
      path: '/events',
      summary: 'Events, newest first: by event time if a resource is given, else as received.',
      input: z.object({
        ...filterShape,
        before: eventIdText.optional(),
        limit: z.coerce.number().int().min(1).max(500).default(50),
      }),
      run: ({ before, limit, ...filters }) => events(inspected, filterIn(filters), { after: before, limit }),
    }),
    endpoint({
      method: 'post',
      path: '/events/replay',
      summary: `Replays all matching events: resets them to pending, and their handlers run again. ${BULK}`,
      input: bulkInput.extend({
        reset_steps: flag.describe('forget the stored results of ctx.once'),
      }),
      run: ({ reset_steps: resetSteps, ...given }) => bulk(inspected, given, { verb: 'replay', resetSteps }),
    }),
    endpoint({
      method: 'post',
      path: '/events/dismiss',
      summary: `Ends all matching events that are pending or dead: no handler runs for them any more. ${BULK}`,
      input: bulkInput.extend({ reason: reasonText.optional().describe('needed, but for a dry_run') }),
      run: ({ reason, ...given }) => bulk(inspected, given, { verb: 'dismiss', reason }),
    }),
    endpoint({
      path: '/events/:id',
      summary: 'One event with its attempts and steps, the state of its resource, and the events around it.',
      input: oneEvent,
      run: ({ id }) => event(inspected, id),
    }),
    endpoint({
      method: 'post',
      path: '/events/:id/replay',
      summary: 'Replays one event: resets it to pending, and its handler runs again.',
      input: oneEvent.extend({ reset_steps: flag }),
      run: ({ id, reset_steps: resetSteps }) => changeOne(inspected, id, { verb: 'replay', resetSteps }),
    }),
    endpoint({
      method: 'post',
      path: '/events/:id/dismiss',
      summary: 'Ends one event that is pending or dead: no handler runs for it any more.',
      input: oneEvent.extend({ reason: reasonText }),
      run: ({ id, reason }) => changeOne(inspected, id, { verb: 'dismiss', reason }),
    }),
    endpoint({
      path: '/received',
      summary:
        'What was received after a cursor, oldest first, as recordings in NDJSON, each with its cursor; nothing is skipped. ' +
        'The header X-Cursor says where to go on, also if nothing matched, and X-Behind about how many events come behind. ' +
        '410: the cursor is of another database.',
      input: receivedQuery,
      run: receivedOf(inspected),
    }),
    endpoint({
      path: '/channels',
      summary: 'Live channels with their state by their newest event, the latest change first.',
      input: reports.channelsQuery,
      run: (query) => reports.channelList(inspected, query),
    }),
    endpoint({
      path: '/problems',
      summary: 'Dead events, and those that wait after a failure, in groups, of the newest 10,000 of each.',
      run: () => reports.problemList(inspected),
    }),
    endpoint({
      path: '/refusals',
      summary: 'Refused requests of all processes by reason, webhook and network, the last ones first.',
      run: () => reports.refusals(inspected),
    }),
    endpoint({
      path: '/rejections',
      summary: 'The last 200 requests that this process refused, with the reasons, newest first.',
      run: () => reports.rejections(inspected),
    }),
    endpoint({
      path: '/quarantine',
      summary: 'Notifications that wait for a secret which verifies them.',
      run: () => reports.quarantine(inspected),
    }),
    endpoint({
      method: 'post',
      path: '/quarantine/admit',
      summary: 'Admits what a secret that is known now verifies. Storing a secret does so, too.',
      input: z.object({ webhook: filterShape.webhook }),
      run: async ({ webhook }) => ({ admitted: await admitWaiting(store, config, webhook) }),
    }),
    endpoint({
      method: 'post',
      path: '/quarantine/drop',
      summary: 'Drops notifications from quarantine, for good.',
      input: z.object({
        webhook: filterShape.webhook,
        before: filterShape.since.describe('only those that came before this time'),
        all: flag.describe('must be true if neither is given'),
      }),
      run: async ({ webhook, before, all }) => {
        if (webhook === undefined && before === undefined && !all)
          throw new RefusedError(400, 'say which notifications: webhook or before, or all: true');
        return {
          dropped: await store.quarantine.drop({ before: before ?? Number.MAX_SAFE_INTEGER, webhook }),
        };
      },
    }),
    endpoint({
      path: '/webhooks',
      summary:
        'Webhooks at the provider, where it can be asked, and those with a secret, which is not shown.',
      run: () => webhooks(inspected),
    }),
    endpoint({
      path: '/stats',
      summary: 'What needs attention; counts, times and rates.',
      run: () => stats(inspected),
    }),
    endpoint({
      path: '/series',
      summary: 'What the plots show: the last hour by minutes.',
      run: () => series(inspected),
    }),
    endpoint({
      method: 'post',
      path: '/pause',
      summary: 'Pauses handling in all processes; notifications are received and recorded as ever.',
      input: z.object({ reason: reasonText }),
      run: async ({ reason }, source) => {
        await store.queue.pause({ reason, by: `admin at ${source}` });
        return { paused: true };
      },
    }),
    endpoint({
      method: 'post',
      path: '/resume',
      summary: 'Resumes handling after a pause.',
      run: async () => {
        const resumed = await store.queue.resume();
        wake();
        return { resumed };
      },
    }),
    endpoint({
      method: 'delete',
      path: '/instances/:name',
      summary: 'Forgets an instance that is gone for good and was not seen for 30 seconds.',
      input: z.object({ name: z.string().max(200) }),
      run: async ({ name }) => {
        const instance = (await store.reports.instances()).find((one) => one.name === name);
        if (!instance) throw new RefusedError(404, 'there is no such instance');
        if (!isAway(instance, clock.now()))
          throw new RefusedError(409, 'it was seen a moment ago: stop it, and it is gone');
        await store.reports.leave({ name });
        return { forgotten: name };
      },
    }),
  ];
}
