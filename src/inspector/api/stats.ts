import { isUnavailable, messageOf } from '../../base/errors.ts';
import { slotOf, TOLD } from '../../notification/kinds.ts';
import { passText } from '../../passes.ts';
import { commits } from '../../receiver/acks.ts';
import type { EventStore, Instance, Overview, Pass, Subscriber, Sum } from '../../store/event-store.ts';
import { iso, isoOrNull, jsonOf, scheduleJson } from '../../store/queue/lists/event-json.ts';
import { ofSubscriber, subscriberOf } from '../../store/stored.ts';
import { MINUTE_MS, RATES, sumOf, type Watch } from '../watch/watch.ts';
import type { Inspected } from './endpoint.ts';

/** A member for each name. */
function membersOf<N extends string, V>(names: readonly N[], of: (name: N) => V): Record<N, V> {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Record<N, V>;
}

export type Known = Awaited<ReturnType<typeof lookAt>>;

/** The length of `last_10_minutes`. */
export const RECENT_MS = 600_000;
export const HOUR_MS = 3_600_000;
/** A handler that still runs so long after its time ignores `ctx.signal`. */
const DEAF_MS = 10_000;
/** Fewer events in a row from the future may be a mistake of their sender. */
export const LEAST_AHEAD = 3;
/** Subscribers' events are between them. */
const NEWEST = { limit: LEAST_AHEAD, reach: 200 };

/** Where what is known comes from; a command watches nothing. */
export type Sources = Pick<Inspected, 'store' | 'clock' | 'config'> & {
  readonly watch?: Pick<Watch, 'report'>;
};

/**
 * The facts about the service, of all its processes. `instance` is this one, null where a command tells. `lives` are by the clock of the
 * store. `lastAt`: when the newest notification came. `failing`: events that wait after a failure. `held`: handlers past their time. `work`:
 * what instances have at work, or had when they ended. `amiss`: skipped while another instance had the handler. `problem`: why nothing can
 * be recorded. `secrets`: those stored, or why they cannot be read. `pass`: the last one that looked for what never came. `silence`: unless
 * a notification came within an hour. `recent` is of the last 10 minutes,
 * `latest` of the present one and the one before. `notRecordedAt`: the last minute in which a request was not recorded, 0 if a later one has
 * accepted some.
 */
export async function lookAt({ store, watch, clock, config }: Sources) {
  const now = clock.now();
  const present = now - (now % MINUTE_MS);
  const instance = watch ? config.INSTANCE_NAME : null;
  const [overview] = await Promise.all([store.reports.overview(), watch?.report()]);
  const { newest, problems, hour, all, ...found } = await resolved({
    newest: store.queue.search({ filter: { subscriber: '', origins: TOLD }, ...NEWEST }),
    subscribers: store.queue.subscribers(),
    ticking: scheduleList({ store }),
    accepted: store.reports.newestOfWebhooks(),
    pass: store.reports.lastPass(),
    // They may be sealed under another key, or locked: the service goes on with those that it holds.
    secrets: store.secrets.all().catch(messageOf),
    problem: problemOfCommits(store, clock),
    hour: store.reports.stats({ since: now - HOUR_MS }),
    problems: overview.waiting > 0 ? store.queue.problems() : [],
    refusals: store.reports.refusals(),
    disk: store.size(),
    all: store.reports.instances(),
    work: store.reports.atWork(),
  });
  // This one lives, even if it cannot write.
  const isHere = ({ name, state }: Instance) => name === instance && state === 'away';
  const lives = all.map((one): Instance => (isHere(one) ? { ...one, state: 'live' } : one));
  // Leases of a process that has gone run out by themselves, and ticks have times of their own.
  const isHeld = ({ instance: of, since, isRunning, origin }: (typeof found.work)[number]) =>
    isRunning === 1 &&
    origin !== 'schedule' &&
    since < now - config.HANDLER_TIMEOUT_MS - DEAF_MS &&
    lives.some(({ name, state, startedAt }) => name === of && state === 'live' && startedAt <= since);
  const names = Object.keys(overview.subscribers);
  const recent = hour.filter(({ minute }) => minute > present - RECENT_MS);
  const lastAt = Math.max(0, ...found.accepted.map(({ receivedAt }) => receivedAt));
  // Repeats are in the statistics alone, and what has just come is not yet.
  const isSilent = among(hour, ACK).count === 0 && lastAt < now - HOUR_MS;
  return {
    ...found,
    overview,
    newest: newest.events,
    lastAt: lastAt || undefined,
    failing: problems.filter(({ failedSince }) => failedSince !== undefined),
    now,
    instance,
    lives,
    held: found.work.filter(isHeld),
    // It reads the statistics of a week.
    silence: isSilent ? await store.reports.silence() : undefined,
    amiss: (await Promise.all(names.map((name) => skippedAmiss(store, name, lives)))).flat(),
    hour: figuresOf(hour),
    recent: figuresOf(recent),
    latest: figuresOf(recent.filter(({ minute }) => minute >= present - MINUTE_MS)),
    notRecordedAt: notRecordedAt(recent),
    config,
  };
}

/** The members of an object, once all have resolved. */
async function resolved<T extends object>(promises: T) {
  const members = Object.entries(promises).map(async ([name, promise]) => [name, await promise]);
  return Object.fromEntries(await Promise.all(members)) as { [N in keyof T]: Awaited<T[N]> };
}

/**
 * The part of these facts that pages and the API show. `events.pending` counts those that wait for a retry, too. `quarantine_lost`: how many
 * the quarantine had no room for, since the database was made. `rejected` is without 503 and 500, which are `not_recorded`. `figures` are of the last hour.
 * `busy_percent`: how busy what writes to the store was.
 */
export function shownOf({ overview, lives, disk, ...known }: Known) {
  const { pending, running, dead, paused, quarantined, quarantineLost: quarantine_lost } = overview;
  return {
    now: iso(lives[0]?.now ?? known.now),
    instance: known.instance,
    events: { pending, running, dead },
    subscribers: Object.fromEntries(
      known.subscribers.map((one) => [one.name, workJson(one, overview, lives)]),
    ),
    oldest_pending_at: isoOrNull(overview.oldestPendingAt),
    last_recorded_at: isoOrNull(known.lastAt),
    quarantined,
    quarantine_lost,
    reconciled: passJson(known.pass),
    paused: paused ? { ...paused, since: iso(paused.since) } : null,
    instances: lives.filter(({ state }) => state !== 'replaced').map(instanceJson),
    can_record: known.problem === undefined,
    can_read_secrets: Array.isArray(known.secrets),
    disk: { database_bytes: disk.bytes, free_bytes: disk.free ?? null, room: disk.room ?? null },
    last_10_minutes: known.recent,
    last_2_minutes: known.latest,
    figures: known.hour,
  };
}

/** `whole_at`: when the last pass began that recorded what was missing. */
export function passJson(pass: Pass | undefined) {
  if (!pass) return null;
  return { ...jsonOf({ wholeAt: undefined, ...pass }), since: iso(pass.since), text: passText(pass) };
}

/** `behind`: how many notifications it was not given yet, 10,000 at most. `instances`: the living ones that have it. */
function workJson({ name, behind }: Subscriber, { subscribers }: Overview, lives: readonly Instance[]) {
  const { pending = 0, waiting = 0, running = 0, oldestPendingAt } = subscribers[name] ?? {};
  const instances = lives.flatMap((one) => (one.state === 'live' && runs(name)(one) ? one.name : []));
  return { pending, waiting, running, behind, instances, oldest_pending_at: isoOrNull(oldestPendingAt) };
}

const instanceJson = ({ state, machine, aheadMs, kinds, now, ...one }: Instance) => ({
  ...jsonOf(one),
  away: state === 'away',
});

const ACK: readonly string[] = ['accepted', 'duplicate'];
const HANDLER: readonly string[] = ['handled', 'skipped', 'failed'];

const among = (sums: readonly Sum[], results: readonly string[]) =>
  sumOf(sums.filter(({ result }) => results.includes(result)));

/** Milliseconds; null if there was none. */
function timesOf(sums: readonly Sum[], results: readonly string[]) {
  const { count, ms, slowest } = among(sums, results);
  return count === 0 ? { mean: null, slowest: null } : { mean: ms / count, slowest };
}

const figuresOf = (sums: readonly Sum[]) => ({
  ...membersOf(RATES, (result) => among(sums, [result]).count),
  ack_ms: timesOf(sums, ACK),
  handler_ms: timesOf(sums, HANDLER),
  commit_ms: timesOf(sums, ['commit']),
  busy_percent: timesOf(sums, ['busy']).mean,
});

function notRecordedAt(minutes: readonly Sum[]): number {
  const lastWith = (results: readonly string[]) =>
    Math.max(0, ...minutes.filter(({ result }) => results.includes(result)).map(({ minute }) => minute));
  const last = lastWith(['not_recorded']);
  return last >= lastWith(ACK) ? last : 0;
}

/**
 * Columns for plots, a row a minute, oldest first, from the first minute of the last hour that a process has told of. `times`: seconds since
 * the epoch; `received` to `failed`: a second; of acks, handlers and commits: milliseconds; `backlog`: the most pending events. Null
 * where there was none, or no process ran.
 */
export async function series({ store, watch, clock }: Inspected) {
  await watch.report();
  const now = clock.now();
  const minutes = await store.reports.stats({ since: now - HOUR_MS });
  const sums = Map.groupBy(minutes, ({ minute }) => minute);
  const present = now - (now % MINUTE_MS);
  const first = Math.min(present, ...sums.keys());
  const starts = Array.from({ length: (present - first) / MINUTE_MS + 1 }, (_, n) => first + n * MINUTE_MS);
  const at = (start: number) => sums.get(start) ?? [];
  // The present minute is not complete, and would look like a slump.
  const secondsOf = (start: number) => Math.max(10, Math.min(MINUTE_MS, now - start) / 1000);
  const rate = (...results: string[]) =>
    starts.map((start) => among(at(start), results).count / secondsOf(start));
  const mean = (...results: string[]) => starts.map((start) => timesOf(at(start), results).mean);
  return {
    times: starts.map((start) => start / 1000),
    received: rate(...ACK),
    ...membersOf(RATES, (result) => rate(result)),
    ack_mean: mean(...ACK),
    handler_mean: mean(...HANDLER),
    commit_mean: mean('commit'),
    busy_percent: mean('busy'),
    backlog: starts.map((start) => timesOf(at(start), ['backlog']).slowest),
  };
}

/** Why the store could not commit just now, in the words of the database; undefined if it could. */
async function problemOfCommits(store: EventStore, clock: Sources['clock']) {
  try {
    return (await commits(store.queue, clock)) ? undefined : 'a commit takes longer than a second';
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return messageOf(error).replace(/^the store cannot do this now: /, '');
  }
}

/** How long it takes at most that an instance has told which handlers it has, and that others have heard it. */
const HEARD_MS = 10_000;
/** How many of the newest events are searched for those that were skipped, and how many of them are told. */
const SEARCHED = { reach: 50_000, limit: 500 };

/** Whether a process runs the events of a subscriber: each runs those of the handlers without a name. */
export const runs = (subscriber: string) => (one: Instance) =>
  subscriber === '' || one.kinds.some((slot) => subscriberOf(slot) === subscriber);

/** A tick comes within a second, or a second after the start of a process. */
const OVERDUE_MS = 300_000;

/**
 * Schedules that processes have had, with their last and next ticks. `instances`: the living ones that have it. `overdue`: none of these has
 * made the next tick.
 */
export async function scheduleList({ store }: Pick<Sources, 'store'>) {
  const [found, lives] = await Promise.all([store.queue.schedules(), store.reports.instances()]);
  const schedules = found.map((one) => {
    const slot = `schedule:${one.name}`;
    const having = lives.filter(({ state, kinds }) => state === 'live' && kinds.includes(slot));
    const overdue = having.some(({ startedAt, now }) => now - Math.max(startedAt, one.nextAt) > OVERDUE_MS);
    return { ...scheduleJson(one), instances: having.map(({ name }) => name), overdue };
  });
  return { schedules };
}

/**
 * Events of a subscriber that were skipped for want of a handler while another instance had one, as one that lives has: what was sent
 * together, and reminders and ticks by their `kind`, as only a filter by that replays them. `since`: the first event time.
 */
async function skippedAmiss(store: EventStore, subscriber: string, all: readonly Instance[]) {
  const lives = all.filter(runs(subscriber));
  const has = (slot: string) => (one: Instance) => one.kinds.includes(ofSubscriber(slot, subscriber));
  const living = lives.filter(({ state }) => state === 'live');
  const own = living.flatMap((one) => one.kinds).filter((slot) => subscriberOf(slot) === subscriber);
  const kinds = own.map((slot) => slot.replace(/@.*/, '')).filter((slot) => !lives.every(has(slot)));
  if (kinds.length === 0) return [];
  const kind = kinds.includes('unknown') ? undefined : kinds; // no list has those
  const filter = { subscriber, status: 'skipped', error: 'no handler for *', kind } as const;
  const searched = await store.queue.search({ filter, ...SEARCHED });
  const events = searched.events.filter(({ handledAt = 0, ...event }) => {
    const lived = ({ startedAt, seenAt }: Instance) =>
      startedAt + HEARD_MS < handledAt && handledAt < seenAt + HEARD_MS;
    return kinds.includes(slotOf(event)) && lives.filter(has(slotOf(event))).some(lived);
  });
  const groups = Map.groupBy(events, ({ origin, kind }) => (TOLD.includes(origin) ? undefined : kind));
  return [...groups].map(([kind, group]) => {
    const slots = [...new Set(group.map(slotOf))];
    const [first = ''] = slots;
    return {
      subscriber,
      kind,
      events: group.length,
      hasMore: searched.next !== undefined,
      kinds: slots,
      having: living.find(has(first))?.name,
      lacking: lives.find((one) => !has(first)(one))?.name,
      since: isoOrNull(Math.min(...group.map(({ eventTime }) => eventTime)) || undefined),
    };
  });
}
