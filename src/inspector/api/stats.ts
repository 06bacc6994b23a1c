import { isUnavailable, type KitError } from '../../base/errors.ts';
import { slotOf } from '../../notification/kinds.ts';
import { commits } from '../../receiver/acks.ts';
import type { EventStore, Refusals, Sum, WebhookSecret } from '../../store/event-store.ts';
import { isAway, iso, isoOrNull } from '../../store/queue/lists/event-json.ts';
import { type Counter, DAY_MS, MINUTE_MS, RATES, sumOf, type Watch } from '../watch/watch.ts';
import type { Inspected } from './endpoint.ts';

const OF_KIND = ['accepted', 'handled', 'failed', 'skipped', 'duplicate'] as const;

/** A member for each name. */
function membersOf<N extends string, V>(names: readonly N[], of: (name: N) => V): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<N, V>;
}

export type Snapshot = Awaited<ReturnType<typeof snapshotOf>>;

/** What `last_10_minutes` is about. */
export const RECENT_MS = 600_000;
const HOUR_MS = 3_600_000;

/** Where a snapshot comes from; a command watches nothing. */
export type Sources = Pick<Inspected, 'store' | 'clock' | 'config'> & {
  readonly watch?: Pick<Watch, 'report' | 'ofDay'>;
};

/**
 * What is known of the service, of all its processes. `instance` is this one, null where a command tells.
 * `events.pending` counts those that wait for a retry, too; `oldest_ready_at` is of those that no handler has started. `failing`: events that
 * wait after a failure, of kinds of which a run failed in the last 10 minutes; `since` the first of them came. `retiring`:
 * webhooks in use whose only secret ends within a day. `refused_for`: why, the reason of the last refusal first. `refused_webhooks`: those with a secret of which nothing was accepted since.
 * `rejected` is without 503 and 500, which are `not_recorded`. `rejected_since`: in the minutes after the last one in which something came
 * in. `last_2_minutes`: the present one and the one before. `figures` are of the last hour. `busy_percent`: how busy what writes was.
 * `last_day` is ten seconds old at most.
 * @param asked the overview, where it is asked for already
 */
export async function snapshotOf(
  { store, watch, clock, config }: Sources,
  asked: ReturnType<EventStore['reports']['overview']>,
) {
  const now = clock.now();
  const present = now - (now % MINUTE_MS);
  const instance = watch ? config.INSTANCE_NAME : null;
  const lately = now - RECENT_MS;
  await watch?.report();
  const [overview, newest, secrets, problem, hour, day, failing, instances, refusals, size] =
    await Promise.all([
      asked,
      newestReceipt(store, 1),
      // They may be sealed under another key: the service goes on with those that it holds.
      store.secrets.live().catch(ifUnavailable(() => undefined)),
      problemOfCommits(store, clock),
      store.reports.stats({ since: now - HOUR_MS, by: 'minute' }),
      watch ? watch.ofDay(store, now) : store.reports.stats({ since: now - DAY_MS, by: 'kind' }),
      failingNow(store, lately),
      store.reports.instances(),
      store.reports.refusals(),
      store.size(),
    ]);
  const { pending, running, dead, paused } = overview;
  const recent = hour.filter(({ name }) => Number(name) > present - RECENT_MS);
  const latest = hour.filter(({ name }) => Number(name) >= present - MINUTE_MS);
  const refused = refusals.filter(({ lastAt }) => lastAt > lately);
  return {
    instance,
    events: { pending, running, dead },
    oldest_pending_at: isoOrNull(overview.oldestPendingAt),
    oldest_ready_at: isoOrNull(overview.oldestReadyAt),
    last_recorded_at: isoOrNull(newest),
    quarantined: overview.quarantined,
    paused: paused ? { ...paused, since: iso(paused.since) } : null,
    failing,
    instances: instances.map((one) => ({
      name: one.name,
      version: one.version,
      started_at: iso(one.startedAt),
      seen_at: iso(one.seenAt),
      running: one.running,
      away: one.name !== instance && isAway(one, now), // this one lives, even if it cannot write
    })),
    can_record: problem === undefined,
    cannot_record: problem ?? null,
    can_read_secrets: secrets !== undefined,
    retiring: await retiringSoon(store, secrets ?? [], now),
    disk: { database_bytes: size.bytes, free_bytes: size.free ?? null, room: size.room ?? null },
    last_10_minutes: {
      ...figuresOf(recent),
      rejected_since: rejectedSince(recent, newest),
      refused_for: reasonsOf(refused),
      refused_webhooks: await webhooksLeftOut(store, { secrets: secrets ?? [], refused, now }),
    },
    last_2_minutes: figuresOf(latest),
    figures: figuresOf(hour),
    last_day: [...Map.groupBy(day, ({ name }) => String(name))]
      .filter(([kind]) => kind !== '')
      .map(([kind, sums]) => ({ kind, ...membersOf(OF_KIND, (result) => countOf(sums, result)) }))
      .sort((one, other) => other.accepted - one.accepted || (one.kind < other.kind ? -1 : 1)),
  };
}

const ACK: readonly string[] = ['accepted', 'duplicate'];
const HANDLER: readonly string[] = ['handled', 'skipped', 'failed'];

const among = (sums: readonly Sum[], results: readonly string[]) =>
  sumOf(sums.filter(({ result }) => results.includes(result)));

const countOf = (sums: readonly Sum[], result: Counter) => among(sums, [result]).count;

/** Milliseconds; null if there was none. */
function timesOf(sums: readonly Sum[], results: readonly string[]) {
  const { count, ms, slowest } = among(sums, results);
  return count === 0 ? { mean: null, slowest: null } : { mean: ms / count, slowest };
}

const figuresOf = (sums: readonly Sum[]) => ({
  ...membersOf(RATES, (result) => countOf(sums, result)),
  ack_ms: timesOf(sums, ACK),
  handler_ms: timesOf(sums, HANDLER),
  commit_ms: timesOf(sums, ['commit']),
  busy_percent: timesOf(sums, ['busy']).mean,
});

/** How many were refused in the minutes after the last one in which something came in. @param newest when the newest event came */
function rejectedSince(minutes: readonly Sum[], newest = 0): number {
  const came = minutes.filter(({ result }) => ACK.includes(result)).map(({ name }) => Number(name));
  const last = Math.max(newest, ...came);
  const later = minutes.filter(({ name }) => Number(name) > last);
  return countOf(later, 'rejected');
}

/** The plots of the last hour. */
export async function series({ store, watch, clock }: Inspected) {
  await watch.report();
  const now = clock.now();
  return seriesOf(await store.reports.stats({ since: now - HOUR_MS, by: 'minute' }), now);
}

/**
 * Columns for plots, a row a minute, oldest first, from the first minute of the last hour that a process has told of. `times`: seconds since
 * the epoch; `received` to `failed`: a second; of acks, handlers and commits: milliseconds; `backlog`: the most pending events. Null
 * where there was none, or no process ran.
 */
function seriesOf(minutes: readonly Sum[], now: number) {
  const sums = Map.groupBy(minutes, ({ name }) => Number(name));
  const present = now - (now % MINUTE_MS);
  const first = Math.min(present, ...sums.keys());
  const starts = Array.from({ length: (present - first) / MINUTE_MS + 1 }, (_, n) => first + n * MINUTE_MS);
  const of = (results: readonly string[]) => starts.map((start) => among(sums.get(start) ?? [], results));
  // The present minute is not complete, and would look like a slump.
  const seconds = starts.map((start) => Math.max(10, Math.min(MINUTE_MS, now - start) / 1000));
  const rate = (...results: string[]) => of(results).map(({ count }, n) => count / (seconds[n] ?? 1));
  const mean = (...results: string[]) =>
    of(results).map(({ count, ms }) => (count === 0 ? null : ms / count));
  return {
    times: starts.map((start) => start / 1000),
    received: rate(...ACK),
    ...membersOf(RATES, (result) => rate(result)),
    ack_mean: mean(...ACK),
    handler_mean: mean(...HANDLER),
    commit_mean: mean('commit'),
    busy_percent: mean('busy'),
    backlog: of(['backlog']).map(({ count, slowest }) => (count === 0 ? null : slowest)),
  };
}

/** Answers for work that fails as the store cannot do it now. */
const ifUnavailable =
  <T>(answer: (error: KitError) => T) =>
  (error: unknown): T => {
    if (isUnavailable(error)) return answer(error);
    throw error;
  };

/** Why the store could not commit just now, in the words of the database; undefined if it could. */
const problemOfCommits = (store: EventStore, clock: Sources['clock']) =>
  commits(store.queue, clock).then(
    (hasCommitted) => (hasCommitted ? undefined : 'a commit takes longer than a second'),
    ifUnavailable(({ message }) => message.replace(/^the store cannot do this now: /, '')),
  );

/** The groups of events that wait after a failure, of kinds of which a run failed since a time. */
async function failingNow(store: EventStore, since: number) {
  const sums = await store.reports.stats({ since, by: 'kind' });
  const kinds = new Set(sums.filter(({ result }) => result === 'failed').map(({ name }) => name));
  if (kinds.size === 0) return [];
  return (await store.queue.problems())
    .filter(({ kind, status }) => status === 'pending' && kinds.has(slotOf(kind)))
    .map((group) => ({
      error: group.error,
      kind: group.kind,
      site_id: group.siteId,
      events: group.count,
      since: iso(group.firstAt),
    }));
}

/** How many of the newest events are looked at for one of a webhook. */
export const NEAR = 1000;

/** When the newest event, or the newest of a webhook, came in; undefined if none of the newest `reach` events is one. */
export async function newestReceipt(store: EventStore, reach: number, webhook?: string) {
  const { events } = await store.queue.search({ filter: { webhook }, stretch: { limit: 1, reach } });
  return events[0]?.receivedAt;
}

/** Webhooks of which something came lately, and which have but one secret, that ends soon. A rotated webhook has that, too, but nothing comes of it. */
async function retiringSoon(store: EventStore, secrets: readonly WebhookSecret[], now: number) {
  const found = [...Map.groupBy(secrets, ({ webhookId }) => webhookId)].map(async ([webhook_id, own]) => {
    const end = Math.max(...own.map(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt));
    if (end >= now + DAY_MS) return [];
    const newest = (await newestReceipt(store, NEAR, webhook_id)) ?? 0;
    return newest > now - RECENT_MS ? [{ webhook_id, retires_at: iso(end) }] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Each reason once. */
const reasonsOf = (refusals: readonly Refusals[]) => [...new Set(refusals.map(({ reason }) => reason))];

/** What is accepted may overtake what is refused by so much. */
const SOON_MS = 30_000;

/** Whether of a webhook something was refused lately, and nothing accepted since. Times are milliseconds since the epoch. */
export function isLeftOut(at: {
  readonly refused: number;
  readonly accepted: number | undefined;
  readonly now: number;
}): boolean {
  return at.refused > at.now - RECENT_MS && (at.accepted ?? 0) < at.refused - SOON_MS;
}

/** The webhooks with a secret that are left out. Strangers can name any webhook. */
async function webhooksLeftOut(
  store: EventStore,
  { secrets, refused, now }: { secrets: readonly WebhookSecret[]; refused: readonly Refusals[]; now: number },
) {
  const known = new Set(secrets.map(({ webhookId }) => webhookId));
  const own = refused.filter(({ webhookId }) => known.has(webhookId));
  const found = [...Map.groupBy(own, ({ webhookId }) => webhookId)].map(async ([id, refusals]) => {
    const refusedAt = Math.max(...refusals.map(({ lastAt }) => lastAt));
    const acceptedAt = await newestReceipt(store, NEAR, id);
    if (!isLeftOut({ refused: refusedAt, accepted: acceptedAt, now })) return [];
    const sum = refusals.reduce((total, { count }) => total + count, 0);
    const times = { last_refused_at: iso(refusedAt), last_accepted_at: isoOrNull(acceptedAt) };
    return [{ webhook_id: id, refused: sum, refused_for: reasonsOf(refusals), ...times }];
  });
  return (await Promise.all(found)).flat();
}
