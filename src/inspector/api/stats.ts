import { z } from 'zod';
import { isUnavailable } from '../../base/errors.ts';
import { instanceNameOf } from '../../config.ts';
import { canCommit } from '../../receiver/readiness.ts';
import type { EventStore, Sum } from '../../store/event-store.ts';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import type { RefusedWebhook } from '../watch/rejections.ts';
import { type Counter, MINUTE_MS, sumOf } from '../watch/stats.ts';
import type { Inspected } from './endpoint.ts';

const time = z.iso.datetime();
const count = z.int().min(0);
const values = z.array(z.number());
const gaps = z.array(z.number().nullable());
const took = z
  .object({ mean: z.number().nullable(), slowest: z.number().nullable() })
  .describe('milliseconds; null if there was none');

export const statsAnswer = z.object({
  instance: z.string().describe('the name of this process (INSTANCE_NAME)'),
  started_at: time,
  events: z
    .object({ pending: count, running: count, dead: count })
    .describe('`pending` counts those that wait for a retry, too'),
  oldest_pending_at: time.nullable(),
  last_recorded_at: time
    .nullable()
    .describe('when the newest event came in: to any process, or from quarantine, if its secret came later'),
  quarantined: count,
  can_record: z.boolean().describe('whether the store could commit just now'),
  can_read_secrets: z
    .boolean()
    .describe('false: the stored secrets were sealed under another key than this process has'),
  last_10_minutes: z
    .object({
      accepted: count,
      duplicate: count,
      rejected: count.describe('refused requests, without 503 and 500'),
      refusals_are_over: z
        .boolean()
        .describe(
          'whether a secret was stored since for the webhook of each request that this process refused',
        ),
      not_recorded: count.describe('answered 503 or 500'),
      refused_webhooks: z
        .array(
          z.object({
            webhook_id: z.string(),
            refused: count.describe('since its last accepted notification, and since its secret was stored'),
            last_refused_at: time,
            last_accepted_at: time.nullable().describe('in this process'),
          }),
        )
        .describe(
          'known webhooks whose requests were all refused, by each process, and of which none was admitted',
        ),
      handled: count,
      failed: count,
      ack_ms: took,
      handler_ms: took,
      commit_ms: took,
    })
    .describe('of all processes: the present minute, and nine before it'),
  last_hour: z
    .object({
      times: values.describe('seconds since the epoch, a minute apart'),
      accepted: values.describe('a second'),
      duplicate: values,
      rejected: values,
      not_recorded: values,
      handled: values,
      failed: values,
      ack_mean: gaps.describe('milliseconds'),
      ack_slowest: gaps,
      handler_mean: gaps,
      handler_slowest: gaps,
    })
    .describe('of all processes'),
  last_day: z
    .array(z.object({ kind: z.string(), accepted: count, duplicate: count, handled: count, failed: count }))
    .describe('of all processes, by kind; `unknown` are those that this version does not know'),
});

export type StatsAnswer = z.input<typeof statsAnswer>;

/** What `last_10_minutes` is about. */
export const RECENT_MS = 600_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export async function stats({ store, watch, clock, config }: Inspected): Promise<StatsAnswer> {
  const now = clock.now();
  const present = now - (now % MINUTE_MS);
  const [overview, lastRecordedAt, known, canRecord, hour, day] = await Promise.all([
    store.overview(),
    newestReceipt(store, { reach: 1 }),
    webhooksWithSecret(store),
    canCommit(store, clock),
    watch.stats.since(store, present + MINUTE_MS - HOUR_MS, 'minute'),
    watch.stats.since(store, now - DAY_MS, 'kind'),
  ]);
  const { pending, running, dead, oldestPendingAt, quarantined } = overview;
  const refusedWebhooks = await webhooksLeftOut({ store, watch }, known ?? new Set(), now);
  const recent = hour.filter(({ name }) => Number(name) > present - RECENT_MS);
  return {
    instance: instanceNameOf(config),
    started_at: iso(watch.startedAt),
    events: { pending, running, dead },
    oldest_pending_at: isoOrNull(oldestPendingAt),
    last_recorded_at: isoOrNull(lastRecordedAt),
    quarantined,
    can_record: canRecord,
    can_read_secrets: known !== undefined,
    last_10_minutes: {
      accepted: countOf(recent, 'accepted'),
      duplicate: countOf(recent, 'duplicate'),
      rejected: countOf(recent, 'rejected'),
      not_recorded: countOf(recent, 'not_recorded'),
      refusals_are_over: watch.rejections.areOver(RECENT_MS, now),
      refused_webhooks: refusedWebhooks.map(({ webhookId, refused, lastRefusedAt, lastAcceptedAt }) => ({
        webhook_id: webhookId,
        refused,
        last_refused_at: iso(lastRefusedAt),
        last_accepted_at: isoOrNull(lastAcceptedAt),
      })),
      handled: countOf(recent, 'handled'),
      failed: countOf(recent, 'failed'),
      ack_ms: timesOf(recent, ACK),
      handler_ms: timesOf(recent, HANDLER),
      commit_ms: timesOf(recent, ['commit']),
    },
    last_hour: seriesOf(hour, now),
    last_day: [...Map.groupBy(day, ({ name }) => String(name))]
      .filter(([kind]) => kind !== '')
      .map(([kind, sums]) => ({
        kind,
        accepted: countOf(sums, 'accepted'),
        duplicate: countOf(sums, 'duplicate'),
        handled: countOf(sums, 'handled'),
        failed: countOf(sums, 'failed'),
      }))
      .sort((one, other) => other.accepted - one.accepted || (one.kind < other.kind ? -1 : 1)),
  };
}

const ACK: readonly Counter[] = ['accepted', 'duplicate'];
const HANDLER: readonly Counter[] = ['handled', 'failed'];

const among = (sums: readonly Sum[], results: readonly string[]) =>
  sumOf(sums.filter(({ result }) => results.includes(result)));

const countOf = (sums: readonly Sum[], result: Counter) => among(sums, [result]).count;

function timesOf(sums: readonly Sum[], results: readonly Counter[]): z.input<typeof took> {
  const { count, ms, slowest } = among(sums, results);
  return count === 0 ? { mean: null, slowest: null } : { mean: ms / count, slowest };
}

/** Columns for a plot: one entry a minute, oldest first. */
function seriesOf(hour: readonly Sum[], now: number): StatsAnswer['last_hour'] {
  const present = now - (now % MINUTE_MS);
  const starts = Array.from({ length: 60 }, (_, index) => present - (59 - index) * MINUTE_MS);
  const minutes = starts.map((start) => hour.filter(({ name }) => Number(name) === start));
  // The present minute is not complete, and would look like a slump.
  const passed = Math.max(10, (now - present) / 1000);
  const rate = (result: Counter) =>
    minutes.map((sums, index) => countOf(sums, result) / (index === 59 ? passed : 60));
  const mean = (results: readonly Counter[]) => minutes.map((sums) => timesOf(sums, results).mean);
  const slowest = (results: readonly Counter[]) => minutes.map((sums) => timesOf(sums, results).slowest);
  return {
    times: starts.map((start) => start / 1000),
    accepted: rate('accepted'),
    duplicate: rate('duplicate'),
    rejected: rate('rejected'),
    not_recorded: rate('not_recorded'),
    handled: rate('handled'),
    failed: rate('failed'),
    ack_mean: mean(ACK),
    ack_slowest: slowest(ACK),
    handler_mean: mean(HANDLER),
    handler_slowest: slowest(HANDLER),
  };
}

/** Undefined where the secrets cannot be read, as they were sealed under another key: the service goes on with those that it holds. */
async function webhooksWithSecret(store: EventStore): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set((await store.secrets()).map(({ webhookId }) => webhookId));
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** How many of the newest events are looked at for one of a webhook. */
const NEAR = 1000;

/** When the newest event, or the newest of a webhook, came in; undefined if none of the newest `reach` events is one. */
async function newestReceipt(
  store: EventStore,
  { webhook, reach }: { readonly webhook?: string; readonly reach: number },
): Promise<number | undefined> {
  const { events } = await store.search({ webhook }, { limit: 1, reach });
  return events[0]?.receivedAt;
}

/** Webhooks of which this process refuses everything, while no other process and no admission has brought an event of theirs. */
async function webhooksLeftOut(
  { store, watch }: Pick<Inspected, 'store' | 'watch'>,
  known: ReadonlySet<string>,
  now: number,
): Promise<readonly RefusedWebhook[]> {
  const refused = watch.refusedWebhooks
    .list(RECENT_MS, now)
    // Strangers can name any webhook; only known ones are listed.
    .filter(({ webhookId, lastAcceptedAt }) => known.has(webhookId) || lastAcceptedAt !== undefined);
  const receipts = await Promise.all(
    refused.map(({ webhookId }) => newestReceipt(store, { webhook: webhookId, reach: NEAR })),
  );
  return refused.filter((_, index) => (receipts[index] ?? 0) <= now - RECENT_MS);
}
