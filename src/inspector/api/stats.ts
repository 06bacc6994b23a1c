import { z } from 'zod';
import { isUnavailable, type KitError } from '../../base/errors.ts';
import { slotOf } from '../../notification/kinds.ts';
import { commits } from '../../receiver/acks.ts';
import type { EventStore, Instance, Refusals, Sum, WebhookSecret } from '../../store/event-store.ts';
import { iso, isoOrNull } from '../../store/queue/lists/event-json.ts';
import { type Counter, DAY_MS, MINUTE_MS, RATES, sumOf, type Watch } from '../watch/watch.ts';
import type { Inspected } from './endpoint.ts';
import { instancesOf, LEAST_AHEAD } from './instances.ts';

const OF_KIND = ['accepted', 'duplicate', 'handled', 'skipped', 'failed'] as const;

/** A member for each name. */
function membersOf<N extends string, V>(names: readonly N[], of: (name: N) => V): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<N, V>;
}

export type Snapshot = Awaited<ReturnType<typeof snapshotOf>>;

/** What `last_10_minutes` is about. */
export const RECENT_MS = 600_000;
const HOUR_MS = 3_600_000;
/** So long after its time a handler ignores `ctx.signal`. */
const DEAF_MS = 10_000;

/** Where a snapshot comes from; a command watches nothing. */
export type Sources = Pick<Inspected, 'store' | 'clock' | 'config'> & {
  readonly watch?: Pick<Watch, 'report' | 'ofDay'>;
};

/**
 * What is known of the service, of all its processes. `instance` is this one, null where a command tells.
 * `events.pending` counts those that wait for a retry, too; `oldest_ready_at` is of those that no handler has started. `failing`: events that
 * wait after a failure, of kinds of which a run failed in the last 10 minutes. `skipped_amiss`: skipped while another instance had the handler;
 * `since` is the first event time. `retiring`: webhooks in use whose only secret ends within a day.
 * `refused_for`: why, the reason of the last refusal first. `refused_webhooks`: those of ours of which nothing gets in.
 * `rejected` is without 503 and 500, which are `not_recorded`. `rejected_since`: in the minutes after the last one in which something came
 * in. `not_recorded_at`: the last minute in which a request was not recorded, null once a later one has accepted some. `last_2_minutes`: the
 * present one and the one before. `figures` are of the last hour. `last_day` is ten seconds old at most.
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
  await Promise.all([asked, watch?.report()]); // together: a rejection that nobody waits for ends the process
  const [
    overview,
    { events: newestEvents },
    accepted,
    secrets,
    problem,
    hour,
    day,
    failing,
    refusals,
    size,
    held,
  ] = await Promise.all([
    asked,
    store.queue.search({ filter: {}, stretch: { limit: LEAST_AHEAD, reach: LEAST_AHEAD } }),
    store.reports.newestOfWebhooks({ before: now + AHEAD_MS }),
    // They may be sealed under another key: the service goes on with those that it holds.
    store.secrets.all().catch(ifUnavailable(() => undefined)),
    problemOfCommits(store, clock),
    store.reports.stats({ since: now - HOUR_MS, by: 'minute' }),
    watch ? watch.ofDay(store, now) : store.reports.stats({ since: now - DAY_MS, by: 'kind' }),
    failingNow(store, lately),
    store.reports.refusals(),
    store.size(),
    store.queue.held({ before: now - config.HANDLER_TIMEOUT_MS - DEAF_MS }),
  ]);
  const { pending, running, dead, paused } = overview;
  const newest = newestEvents[0]?.receivedAt;
  const processes = await instancesOf({ store, clock, config }, instance, newestEvents);
  const recent = hour.filter(
    ({ name }) => Number(name) > present - RECENT_MS && Number(name) < now + AHEAD_MS,
  );
  const latest = recent.filter(({ name }) => Number(name) >= present - MINUTE_MS);
  const refused = refusals.filter(({ lastAt }) => isLately(lastAt, now));
  return {
    instance,
    places: config.DISPATCH_CONCURRENCY,
    events: { pending, running, dead },
    oldest_pending_at: isoOrNull(overview.oldestPendingAt),
    oldest_ready_at: isoOrNull(overview.oldestReadyAt),
    last_recorded_at: isoOrNull(newest),
    quarantined: overview.quarantined,
    paused: paused ? { ...paused, since: iso(paused.since) } : null,
    failing,
    ...processes,
    // Handlers past their time, of the `places` that a process has. Leases of a process that has gone run out by themselves.
    held: held
      .filter((one) => processes.instances.some(({ name, away }) => name === one.instance && !away))
      .map(({ instance: of, kind, siteId: site_id, count: events, since: first }) => {
        return { instance: of, kind, site_id, events, since: iso(first) };
      }),
    skipped_amiss: await skippedAmiss(store),
    can_record: problem === undefined,
    cannot_record: problem ?? null,
    can_read_secrets: secrets !== undefined,
    retiring: retiringSoon({ secrets, accepted, now }),
    database_flaw: size.flaw ?? null,
    disk: { database_bytes: size.bytes, free_bytes: size.free ?? null, room: size.room ?? null },
    last_10_minutes: {
      ...figuresOf(recent),
      rejected_since: rejectedSince(recent, newest),
      refused_for: reasonsOf(refused),
      refused_webhooks: webhooksLeftOut(refusals, { secrets, accepted, now }),
    },
    not_recorded_at: notRecordedAt(recent),
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
});

/** The last minute with one of some results; 0 if there was none. */
const lastWith = (minutes: readonly Sum[], results: readonly string[]) =>
  Math.max(0, ...minutes.filter(({ result }) => results.includes(result)).map(({ name }) => Number(name)));

function notRecordedAt(minutes: readonly Sum[]) {
  const last = lastWith(minutes, ['not_recorded']);
  return last > 0 && last >= lastWith(minutes, ACK) ? iso(last) : null;
}

/** How many were refused in the minutes after the last one in which something came in. @param newest when the newest event came */
function rejectedSince(minutes: readonly Sum[], newest = 0): number {
  const last = Math.max(newest, lastWith(minutes, ACK));
  const later = minutes.filter(({ name }) => Number(name) > last);
  return countOf(later, 'rejected');
}

/** What charts show, and in which steps. */
const SPANS = {
  hour: { ms: HOUR_MS, step: MINUTE_MS },
  day: { ms: DAY_MS, step: 15 * MINUTE_MS },
} as const;

export const spanQuery = z.object({ span: z.literal(['hour', 'day']).default('hour') });
type Span = z.output<typeof spanQuery>['span'];

/** The charts of the last hour or day. */
export async function series({ store, watch, clock }: Inspected, { span }: z.output<typeof spanQuery>) {
  await watch.report();
  const now = clock.now();
  return seriesOf(await store.reports.stats({ since: now - SPANS[span].ms, by: 'minute' }), span, now);
}

/**
 * Columns for a plot, oldest first. `times`: seconds since the epoch; `accepted` to `failed`: a second; of acks and handlers: milliseconds;
 * `backlog`: the most pending events, null where no process ran.
 */
function seriesOf(minutes: readonly Sum[], span: Span, now: number) {
  const { ms, step } = SPANS[span];
  const end = now - (now % step) + step;
  const starts = Array.from({ length: ms / step }, (_, index) => end - ms + index * step);
  const inSteps = Map.groupBy(minutes, ({ name }) => Number(name) - (Number(name) % step));
  const steps = starts.map((start) => inSteps.get(start) ?? []);
  // The present step is not complete, and would look like a slump.
  const seconds = starts.map((start) => Math.max(10, Math.min(step, now - start) / 1000));
  const rate = (result: Counter) => steps.map((sums, index) => countOf(sums, result) / (seconds[index] ?? 1));
  const acks = steps.map((sums) => timesOf(sums, ACK));
  const handlers = steps.map((sums) => timesOf(sums, HANDLER));
  return {
    times: starts.map((start) => start / 1000),
    ...membersOf(RATES, rate),
    ack_mean: acks.map(({ mean }) => mean),
    ack_slowest: acks.map(({ slowest }) => slowest),
    handler_mean: handlers.map(({ mean }) => mean),
    handler_slowest: handlers.map(({ slowest }) => slowest),
    backlog: steps.map((sums) => timesOf(sums, ['backlog']).slowest),
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
    .filter(({ kind, failedSince }) => failedSince !== undefined && kinds.has(slotOf(kind)))
    .map(({ error, kind, siteId: site_id, count: events, failedSince }) => {
      return { error, kind, site_id, events, since: iso(failedSince ?? 0) };
    });
}

/** What tells of which webhooks something comes, and gets in. */
interface Standing {
  /** retired ones, too */
  readonly secrets: readonly WebhookSecret[] | undefined;
  readonly accepted: Awaited<ReturnType<EventStore['reports']['newestOfWebhooks']>>;
  readonly now: number;
}

/** Of a rotated webhook, nothing comes later than so long after its end was set but what was under way. */
const UNDER_WAY_MS = MINUTE_MS;

/** Webhooks of which something came lately, after the end was set of their only secret, which is soon. */
function retiringSoon({ secrets = [], accepted, now }: Standing) {
  return [...Map.groupBy(secrets, ({ webhookId }) => webhookId)].flatMap(([webhook_id, own]) => {
    const end = Math.max(...own.map(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt));
    if (end <= now || end >= now + DAY_MS) return [];
    const setAt = Math.max(...own.map(({ retireSetAt = 0 }) => retireSetAt));
    const newest = accepted.find(({ webhookId }) => webhookId === webhook_id)?.receivedAt ?? 0;
    const isInUse = newest > now - RECENT_MS && newest >= setAt + UNDER_WAY_MS;
    return isInUse ? [{ webhook_id, retires_at: iso(end) }] : [];
  });
}

/** Each reason once. */
const reasonsOf = (refusals: readonly Refusals[]) => [...new Set(refusals.map(({ reason }) => reason))];

/** Times that lie further ahead are of before the clock was set back. */
const AHEAD_MS = MINUTE_MS;
const isLately = (time: number, now: number) => time > now - RECENT_MS && time < now + AHEAD_MS;

/** What another process accepts may be told so much later than what this one refuses. */
const SOON_MS = 30_000;
/** So many in a row say that nothing gets in; or two, if the first was so long ago. */
const MANY_IN_A_ROW = 10;
const LONG_MS = 120_000;

/**
 * Webhooks of ours of which nothing gets in: of those with a live secret, and of those that have an event and never had a secret. What was
 * admitted from quarantine counts as accepted. Strangers can name any other webhook.
 */
export function webhooksLeftOut(refusals: readonly Refusals[], { secrets = [], accepted, now }: Standing) {
  const newest = new Map(accepted.map(({ webhookId, receivedAt = 0 }) => [webhookId, receivedAt]));
  const known = new Set(newest.keys());
  known.delete(''); // of requests that name none
  // What was rotated or deleted has an end: its last notifications may be sent again.
  for (const { webhookId } of secrets) known.delete(webhookId);
  for (const { webhookId, retireAt = now + 1 } of secrets) if (retireAt > now) known.add(webhookId);
  const own = refusals.filter(({ webhookId, inARow }) => inARow > 0 && known.has(webhookId));
  const rows = [...Map.groupBy(own, ({ webhookId }) => webhookId)].flatMap(([webhook_id, groups]) => {
    const since = Math.min(...groups.map(({ rowSince = now }) => rowSince));
    const refusedAt = Math.max(...groups.map(({ lastAt }) => lastAt));
    const isBroken = (newest.get(webhook_id) ?? 0) >= Math.max(since, refusedAt - SOON_MS);
    if (isBroken || !isLately(refusedAt, now)) return [];
    const in_a_row = groups.reduce((sum, { inARow }) => sum + inARow, 0);
    return [{ webhook_id, in_a_row, since, refused_for: reasonsOf(groups) }];
  });
  // Of many webhooks, each may have few.
  const isNoneIn = Math.max(0, ...newest.values()) < Math.min(...rows.map(({ since }) => since));
  const isMany = isNoneIn && rows.reduce((sum, row) => sum + row.in_a_row, 0) >= MANY_IN_A_ROW;
  return rows
    .filter(
      (row) => isMany || row.in_a_row >= MANY_IN_A_ROW || (row.in_a_row > 1 && row.since <= now - LONG_MS),
    )
    .map((row) => ({ ...row, since: iso(row.since) }));
}

/** How long it takes at most that an instance has told which handlers it has, and that others have heard it. */
const HEARD_MS = 10_000;
/** How many of the newest events are searched for those that were skipped, and how many of them are told. */
const SEARCHED = { reach: 50_000, limit: 500 };
const has = (kind: string) => (one: Instance) => one.kinds.includes(slotOf(kind));

/** Events that were skipped for want of a handler while another instance had one, as one that lives has. Null if there are none. */
async function skippedAmiss(store: EventStore) {
  const instances = await store.reports.instances();
  const now = instances[0]?.now ?? 0;
  const living = instances.filter(({ state }) => state === 'live');
  const uneven = living.flatMap(({ kinds }) => kinds).filter((kind) => !instances.every(has(kind)));
  if (uneven.length === 0) return null;
  const sums = await store.reports.stats({ since: now - HOUR_MS, by: 'kind' });
  const kinds = uneven.filter((kind) => sums.some((sum) => sum.name === kind && sum.result === 'skipped'));
  if (kinds.length === 0) return null;
  const filter = { status: 'skipped', error: 'no handler for *' } as const;
  const known = kinds.includes('unknown') ? undefined : kinds; // no list has those
  const searched = await store.queue.search({ filter: { ...filter, kind: known }, stretch: SEARCHED });
  const events = searched.events.filter(({ kind, handledAt = 0 }) => {
    const lived = ({ startedAt, seenAt }: Instance) =>
      startedAt + HEARD_MS < handledAt && handledAt < seenAt + HEARD_MS;
    return kinds.includes(slotOf(kind)) && instances.filter(has(kind)).some(lived);
  });
  const [first] = events;
  if (!first) return null;
  return {
    events: events.length,
    has_more: searched.next !== undefined,
    kinds: [...new Set(events.map(({ kind }) => slotOf(kind)))],
    having: living.find(has(first.kind))?.name,
    lacking: instances.find((one) => !has(first.kind)(one))?.name,
    since: isoOrNull(Math.min(...events.map(({ eventTime }) => eventTime)) || undefined),
  };
}
