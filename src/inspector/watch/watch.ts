import { type Clock, type MonotonicClock, repeat, within } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { kitVersion } from '../../base/program.ts';
import { networkOf } from '../../base/request-source.ts';
import { isKind } from '../../notification/kinds.ts';
import type { Answered, HandlerRun, Observer, ReportNeeds } from '../../observer.ts';
import type { EventStore, Refusals, Report, Stat, Sum } from '../../store/event-store.ts';
import { Metrics } from './metrics.ts';
import { isRejection, type RejectionResult, reasonOf, resultOf } from './request-results.ts';

/** What statistics count: requests, runs of handlers, commits, and looks at the backlog, whose milliseconds are its pending events. */
export const RATES = ['accepted', 'duplicate', 'rejected', 'not_recorded', 'handled', 'failed'] as const;
export type Counter = (typeof RATES)[number] | 'commit' | 'backlog';

type Counted = Omit<Stat, 'instance'>;

export const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const EVERY_MS = 10_000;
/** A store that stands still must not hold up a stop. */
const LAST_MS = 1000;

/** Strangers can name any webhook: more groups than these are not counted until the next report. */
const MOST_GROUPS = 1000;

const NOTHING = { stats: [], refusals: [] };

/** Adds refused requests to their group. */
function addTo(groups: Map<string, Refusals>, more: Refusals): void {
  const key = JSON.stringify([more.reason, more.webhookId, more.network]);
  const known = groups.get(key);
  if (!known && groups.size >= MOST_GROUPS) return;
  const { firstAt, lastAt, count } = known ?? { ...more, count: 0 };
  groups.set(key, {
    ...more,
    firstAt: Math.min(firstAt, more.firstAt),
    lastAt: Math.max(lastAt, more.lastAt),
    count: count + more.count,
  });
}

/** What this process has counted and not stored yet, by minute, kind and result. */
export class Stats {
  readonly #counted = new Map<string, Counted>();
  readonly #refused = new Map<string, Refusals>();
  #beingStored: Pick<Report, 'stats' | 'refusals'> = NOTHING;
  #ofDay: { readonly readAt: number; readonly sums: Promise<readonly Sum[]> } | undefined;

  count(result: Counter, ms: number, now: number, kind?: string): void {
    const minute = now - (now % MINUTE_MS);
    // Senders may name any kind, and each would have rows of its own.
    const known = kind === undefined ? '' : isKind(kind) ? kind : 'unknown';
    this.#add({ minute, kind: known, result, count: 1, ms, slowest: ms });
  }

  #add(more: Counted): void {
    const key = `${more.minute} ${more.kind} ${more.result}`;
    const known = this.#counted.get(key);
    this.#counted.set(key, known ? added(known, more) : more);
  }

  /** Counts a refused request. @param reason why it could not be verified, whatever it was told */
  refused(reason: string, { webhookId, source }: Answered, now: number): void {
    const network = networkOf(source);
    addTo(this.#refused, { reason, webhookId, network, firstAt: now, lastAt: now, count: 1 });
  }

  /** Reports it to the store. What the store does not take is reported with the next. */
  async report(
    { store, log }: Pick<ReportNeeds, 'store' | 'log'>,
    instance: Report['instance'],
  ): Promise<void> {
    const [stats, refusals] = [[...this.#counted.values()], [...this.#refused.values()]];
    this.#counted.clear();
    this.#refused.clear();
    this.#beingStored = { stats, refusals };
    try {
      await store.report({ instance, stats, refusals });
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'statistics were not stored');
      for (const one of stats) this.#add(one);
      for (const one of refusals) addTo(this.#refused, one);
    }
    this.#beingStored = NOTHING;
  }

  /** Refused requests of all processes in groups, the last ones first. */
  async refusals(store: Pick<EventStore, 'refusals'>): Promise<readonly Refusals[]> {
    const stored = await store.refusals();
    const groups = new Map<string, Refusals>();
    for (const one of [...this.#refused.values(), ...this.#beingStored.refusals, ...stored])
      addTo(groups, one);
    return [...groups.values()].toSorted((one, other) => other.lastAt - one.lastAt);
  }

  /** What all processes have counted of each kind in a day. It is up to ten seconds old, as a day has many rows to add up. */
  async ofDay(store: Pick<EventStore, 'stats'>, now: number): Promise<readonly Sum[]> {
    if (this.#ofDay && now - this.#ofDay.readAt < EVERY_MS) return this.#ofDay.sums;
    const sums = this.since(store, now - DAY_MS, 'kind');
    this.#ofDay = { readAt: now, sums };
    sums.catch(() => {
      this.#ofDay = undefined;
    });
    return sums;
  }

  /** What all processes have counted since a time, by minutes or kinds. */
  async since(
    store: Pick<EventStore, 'stats'>,
    since: number,
    by: 'minute' | 'kind',
  ): Promise<readonly Sum[]> {
    const stored = await store.stats(since, by);
    const own = [...this.#beingStored.stats, ...this.#counted.values()].filter(
      ({ minute }) => minute >= since,
    );
    return [...stored, ...own.map((one) => ({ ...one, name: one[by] }))];
  }
}

interface Amount {
  readonly count: number;
  readonly ms: number;
  readonly slowest: number;
}

function added<A extends Amount>(one: A, more: Amount): A {
  const slowest = Math.max(one.slowest, more.slowest);
  return { ...one, count: one.count + more.count, ms: one.ms + more.ms, slowest };
}

/** All of some sums in one. */
export function sumOf(sums: readonly Amount[]): Amount {
  return sums.reduce<Amount>(added, { count: 0, ms: 0, slowest: 0 });
}

/** Reports every ten seconds. @returns a function that does it once more, and says that this process stops in order */
export function keepReporting({ stats, startedAt }: Watch, needs: ReportNeeds): () => Promise<void> {
  const { store, config, clock, log, running } = needs;
  const name = config.INSTANCE_NAME;
  let last = Promise.resolve();
  const report = () => {
    last = last.then(async () => {
      const overview = await store.overview().catch(() => undefined); // the report that follows says why
      if (overview) stats.count('backlog', overview.pending, clock.now());
      await stats.report(needs, { name, version: kitVersion(), startedAt, running: running() });
    });
    return last;
  };
  const stop = repeat(clock, 0, async () => {
    await report();
    return EVERY_MS;
  });
  return async () => {
    stop();
    const left = report()
      .then(() => store.leave(name))
      .catch((error) => log.warn({ error: messageOf(error) }, 'the stop could not be reported'));
    await within(clock, LAST_MS, left);
  };
}

/** A refused request and the reason. It contains no part of the token. */
interface Rejection {
  /** milliseconds since the epoch */
  readonly at: number;
  readonly result: RejectionResult;
  readonly answer: Answered;
}

const KEPT_REJECTIONS = 200;

/** The inspector's own observations, beside the store's data. All but the statistics is lost when the process ends. */
export class Watch implements Observer {
  readonly metrics: Metrics;
  readonly stats = new Stats();
  readonly startedAt: number;
  /** how many requests were answered and handlers have run */
  changes = 0;
  /** the last ones, newest first */
  rejections: readonly Rejection[] = [];
  readonly #clock: Clock;

  constructor(clock: MonotonicClock, droppedLogLines?: () => number) {
    this.metrics = new Metrics(droppedLogLines);
    this.#clock = clock;
    this.startedAt = clock.now();
  }

  answered(answer: Answered): void {
    const now = this.#clock.now();
    this.changes++;
    const result = resultOf(answer);
    this.metrics.answered(result, answer.ms);
    if (answer.recorded) {
      this.stats.count(answer.recorded.status, answer.ms, now, answer.kind);
    } else if (isRejection(result)) {
      this.stats.count('rejected', answer.ms, now);
      this.stats.refused(answer.refusal ? reasonOf(answer.refusal) : result, answer, now);
      this.rejections = [{ at: now, result, answer }, ...this.rejections].slice(0, KEPT_REJECTIONS);
    } else if (result !== 'probe') {
      this.stats.count('not_recorded', answer.ms, now);
    }
  }

  ran(run: HandlerRun): void {
    const now = this.#clock.now();
    this.changes++;
    this.metrics.ran(run);
    if (run.outcome === 'retry') return; // it asked to come back, and has neither ended nor failed
    const isDone = run.status === 'handled' || run.status === 'skipped';
    this.stats.count(isDone ? 'handled' : 'failed', run.ms, now, run.kind);
  }

  committed(ms: number): void {
    this.metrics.committed(ms);
    this.stats.count('commit', ms, this.#clock.now());
  }
}
