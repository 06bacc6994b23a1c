import type { Request } from 'express';
import { z } from 'zod';
import { within } from '../../base/clock.ts';
import { plural } from '../../base/text.ts';
import { admitWaiting } from '../../receiver/quarantine.ts';
import { bulkFilter } from '../../store/queue/lists/search.ts';
import { audited } from '../../store/reports/audit.ts';
import { stats } from '../attention/attention.ts';
import { RefusedError } from '../guard/refuse.ts';
import { changeBy, type Endpoint, endpoint, flag, type Inspected } from './endpoint.ts';
import { event, eventIdText, events, filterIn, filterShape } from './events.ts';
import { RECEIVED } from './received.ts';
import { LISTS } from './reports.ts';
import { passJson, scheduleList, series } from './stats.ts';
import { type Change, changeOne, countFor, type Verb } from './verbs.ts';
import { WEBHOOKS } from './webhooks.ts';

const oneEvent = z.object({ id: eventIdText });

/** Why events are dismissed, or handling is paused. */
const reasonText = z.string().trim().min(1).max(500);

const bulkInput = z.object({
  ...filterShape,
  dry_run: flag.describe('only count'),
  all: flag.describe('must be true if no filter but `subscriber` is given'),
  id: z.uuid().optional().describe('a UUID of yours: a request with the id of the latest one begins nothing'),
});

const BULK = 'For very many events, the answer comes early, with `more`. 409 while another is under way.';

/** How long a request waits for the end of a verb for many events. */
const LONGEST_ANSWER_MS = 10_000;

/** Does a verb for all events that match, or only counts them. */
async function bulk(inspected: Inspected, given: z.output<typeof bulkInput> & Change) {
  const { dry_run, all, id, verb, by, reason, reset_steps, ...filters } = given;
  const filter = await bulkFilter(inspected.store, verb, filterIn(filters), filters.subscriber);
  if (dry_run) {
    const { events, isAll } = await countFor(verb, inspected, filter);
    return { dry_run, events, more: !isAll };
  }
  const { subscriber: _, ...which } = filters;
  if (!all && Object.values(which).every((value) => value === undefined))
    throw new RefusedError(400, 'say which events: a filter, or all: true');
  const { verbs, clock } = inspected;
  const progress = verbs.start(filter, { verb, by, reason, reset_steps }, id);
  await within(clock, LONGEST_ANSWER_MS, verbs.idle());
  const { events, problem, isOver } = progress;
  if (problem === undefined) return { dry_run, events, more: !isOver };
  const soFar = `it was cut short after ${plural(events, 'event')}`;
  throw new RefusedError(503, `${soFar} (${problem}): ask again for the rest`);
}

/** A verb for events, with its row in the audit. */
const asked = (verb: Verb, req: Request) => ({ verb, by: changeBy(req, `events ${verb}`) });

/** Makes a change, with its row in the audit. A change without a count has changed one. */
const noted = <T>(store: Inspected['store'], req: Request, what: string, work: () => Promise<T>) =>
  audited(store, changeBy(req, what), work, (done) => (Array.isArray(done) ? 1 : Number(done ?? 1)));

/** Every route of the API but the stream and the OpenAPI description. */
export const ENDPOINTS: readonly Endpoint[] = [
  endpoint('get', '/events', {
    summary: 'Events, newest first: by event time if a resource is given, else as received.',
    input: z.object({
      ...filterShape,
      before: eventIdText.optional(),
      limit: z.coerce.number().int().min(1).max(500).default(50),
    }),
    run: (inspected, { before, limit, ...filters }) =>
      events(inspected, { filter: filterIn(filters), after: before, limit }),
  }),
  endpoint('post', '/events/replay', {
    summary: `Replays all matching events: resets them to pending, and their handlers run again. ${BULK}`,
    input: bulkInput.extend({ reset_steps: flag.describe('forget the results of ctx.once') }),
    run: (inspected, given, { req }) => bulk(inspected, { ...asked('replay', req), ...given }),
  }),
  endpoint('post', '/events/dismiss', {
    summary: `Ends all matching events that are pending or dead: no handler runs for them any more. ${BULK}`,
    input: bulkInput.extend({ reason: reasonText.optional().describe('needed without dry_run') }),
    run: (inspected, given, { req }) => bulk(inspected, { ...asked('dismiss', req), ...given }),
  }),
  endpoint('get', '/events/:id', {
    summary:
      'One event with attempts, steps, state, reminders, the events of other subscribers, and those before and after it.',
    input: oneEvent,
    run: event,
  }),
  endpoint('post', '/events/:id/replay', {
    summary: 'Replays one event: resets it to pending, and its handler runs again.',
    input: oneEvent.extend({ reset_steps: flag }),
    run: (inspected, given, { req }) => changeOne(inspected, { ...asked('replay', req), ...given }),
  }),
  endpoint('post', '/events/:id/dismiss', {
    summary: 'Ends one event that is pending or dead: no handler runs for it any more.',
    input: oneEvent.extend({ reason: reasonText }),
    run: (inspected, given, { req }) => changeOne(inspected, { ...asked('dismiss', req), ...given }),
  }),
  RECEIVED,
  ...LISTS,
  endpoint('get', '/schedules', {
    summary:
      'Schedules with their last and next ticks; overdue: none of its instances has made the next one.',
    run: scheduleList,
  }),
  endpoint('post', '/quarantine/admit', {
    summary: 'Admits each notification that a known secret verifies now. Storing a secret does so, too.',
    input: z.object({ webhook: filterShape.webhook }),
    run: async ({ store, config }, { webhook }, { req }) => ({
      admitted: await noted(store, req, 'quarantine admit', () => admitWaiting(store, config, webhook)),
    }),
  }),
  endpoint('post', '/quarantine/drop', {
    summary: 'Drops notifications from quarantine, for good.',
    input: z.object({
      webhook: filterShape.webhook,
      before: filterShape.since.describe('only notifications that came before this time'),
      all: flag.describe('must be true if neither is given'),
    }),
    run: async ({ store }, { webhook, before, all }, { req }) => {
      if (webhook === undefined && before === undefined && !all)
        throw new RefusedError(400, 'say which notifications: webhook or before, or all: true');
      const drop = () => store.quarantine.drop({ before: before ?? Number.MAX_SAFE_INTEGER, webhook });
      return { dropped: await noted(store, req, 'quarantine drop', drop) };
    },
  }),
  WEBHOOKS,
  endpoint('get', '/reconciled', {
    summary: 'The last pass that looked for what never came; null before the first.',
    run: async ({ store }) => ({ last_pass: passJson(await store.reports.lastPass()) }),
  }),
  endpoint('get', '/stats', {
    summary: 'What needs attention; counts, times and rates.',
    run: stats,
  }),
  endpoint('get', '/series', {
    summary: 'The columns of the plots: the last hour by minutes.',
    run: series,
  }),
  endpoint('post', '/pause', {
    summary: 'Pauses handling in all processes; notifications are received and recorded as ever.',
    input: z.object({ reason: reasonText }),
    run: async ({ store }, { reason }, { req }) => {
      const { who: by } = changeBy(req, 'pause');
      await noted(store, req, 'pause', () => store.queue.pause({ reason, by }));
      return { paused: true };
    },
  }),
  endpoint('post', '/resume', {
    summary: 'Resumes handling after a pause.',
    run: async ({ store, wake }, _, { req }) => {
      const resumed = await noted(store, req, 'resume', () => store.queue.resume());
      wake();
      return { resumed };
    },
  }),
  endpoint('delete', '/instances/:name', {
    summary: 'Forgets an instance that is gone for good: it has left, or was not seen for 30 seconds.',
    input: z.object({ name: z.string().max(200) }),
    run: async ({ store }, { name }, { req }) => {
      const lives = (await store.reports.instances()).filter((one) => one.name === name);
      if (lives.length === 0) throw new RefusedError(404, 'there is no such instance');
      if (lives.some(({ state }) => state === 'live'))
        throw new RefusedError(409, 'the instance was seen a moment ago: stop it first');
      await noted(store, req, 'instances forget', () => store.reports.forget({ name }));
      return { forgotten: name };
    },
  }),
];
