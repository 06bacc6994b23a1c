import { z } from 'zod';
import { isUnavailable } from '../../base/errors.ts';
import { commits } from '../../receiver/readiness.ts';
import type { EventStore, Sum } from '../../store/event-store.ts';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import { type Counter, MINUTE_MS, RATES, sumOf } from '../watch/watch.ts';
import type { Inspected } from './endpoint.ts';

const time = z.iso.datetime();
const count = z.int().min(0);
const OF_KIND = ['accepted', 'duplicate', 'handled', 'failed'] as const;

/** A member for each name. */
function membersOf<N extends string, V>(names: readonly N[], of: (name: N) => V): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<N, V>;
}

const COLUMNS = ['times', ...RATES, 'ack_mean', 'ack_slowest', 'handler_mean', 'handler_slowest'] as const;
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
      ...membersOf(RATES, () => count),
      refused_webhooks: z
        .array(
          z.object({
            webhook_id: z.string(),
            refused: count.describe('in quarantine'),
            last_refused_at: time,
            last_accepted_at: time.nullable(),
          }),
        )
        .describe('webhooks with a secret whose requests were all refused'),
      ack_ms: took,
      handler_ms: took,
      commit_ms: took,
    })
    .describe(
      'of all processes: the present minute, and nine before it. rejected: without 503 and 500, which are not_recorded',
    ),
  last_hour: z
    .object(membersOf(COLUMNS, () => z.array(z.number().nullable())))
    .describe(
      'of all processes, a minute apart. times: seconds since the epoch; accepted to failed: a second; ack and handler: milliseconds',
    ),
  last_day: z
    .array(z.object({ kind: z.string(), ...membersOf(OF_KIND, () => count) }))
    .describe(
      'of all processes, by kind; `unknown` are those that this version does not know; ten seconds old at most',
    ),
});

export type StatsAnswer = z.input<typeof statsAnswer>;

/** What `last_10_minutes` is about. */
export const RECENT_MS = 600_000;
const HOUR_MS = 3_600_000;

/** @param asked the overview, where it is asked for already */
export async function stats(
  { store, watch, clock, config }: Inspected,
  asked = store.overview(),
): Promise<StatsAnswer> {
  const now = clock.now();
  const present = now - (now % MINUTE_MS);
  const [overview, lastRecordedAt, known, canRecord, hour, day] = await Promise.all([
    asked,
    newestReceipt(store, 1),
    webhooksWithSecret(store),
    commits(store, clock).catch(() => false), // the log has the reason at each notification
    watch.stats.minutesSince(store, present + MINUTE_MS - HOUR_MS),
    watch.stats.ofDay(store, now),
  ]);
  const { pending, running, dead, oldestPendingAt, quarantined } = overview;
  const recent = hour.filter(({ name }) => Number(name) > present - RECENT_MS);
  return {
    instance: config.INSTANCE_NAME,
    started_at: iso(watch.startedAt),
    events: { pending, running, dead },
    oldest_pending_at: isoOrNull(oldestPendingAt),
    last_recorded_at: isoOrNull(lastRecordedAt),
    quarantined,
    can_record: canRecord,
    can_read_secrets: known !== undefined,
    last_10_minutes: {
      ...membersOf(RATES, (result) => countOf(recent, result)),
      refused_webhooks: await webhooksLeftOut(store, known ?? new Set(), now - RECENT_MS),
      ack_ms: timesOf(recent, ACK),
      handler_ms: timesOf(recent, HANDLER),
      commit_ms: timesOf(recent, ['commit']),
    },
    last_hour: seriesOf(hour, now),
    last_day: [...Map.groupBy(day, ({ name }) => String(name))]
      .filter(([kind]) => kind !== '')
      .map(([kind, sums]) => ({ kind, ...membersOf(OF_KIND, (result) => countOf(sums, result)) }))
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
  const acks = minutes.map((sums) => timesOf(sums, ACK));
  const handlers = minutes.map((sums) => timesOf(sums, HANDLER));
  return {
    times: starts.map((start) => start / 1000),
    ...membersOf(RATES, rate),
    ack_mean: acks.map(({ mean }) => mean),
    ack_slowest: acks.map(({ slowest }) => slowest),
    handler_mean: handlers.map(({ mean }) => mean),
    handler_slowest: handlers.map(({ slowest }) => slowest),
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
export const NEAR = 1000;

/** When the newest event, or the newest of a webhook, came in; undefined if none of the newest `reach` events is one. */
export async function newestReceipt(store: EventStore, reach: number, webhook?: string) {
  const { events } = await store.search({ webhook }, { limit: 1, reach });
  return events[0]?.receivedAt;
}

/** Webhooks with a secret of which lately all came into quarantine, and nothing to the events. */
async function webhooksLeftOut(store: EventStore, known: ReadonlySet<string>, since: number) {
  // Strangers can name any webhook; only known ones are listed.
  const waiting = (await store.waitingWebhooks()).filter(
    ({ webhookId, lastAt }) => known.has(webhookId) && lastAt > since,
  );
  const refused = waiting.map(async ({ webhookId, notifications, lastAt }) => ({
    webhook_id: webhookId,
    refused: notifications,
    last_refused_at: iso(lastAt),
    last_accepted_at: isoOrNull(await newestReceipt(store, NEAR, webhookId)),
  }));
  return (await Promise.all(refused)).filter(
    ({ last_accepted_at: at }) => at === null || Date.parse(at) <= since,
  );
}
