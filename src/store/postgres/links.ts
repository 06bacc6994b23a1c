import type { MonotonicClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import type { Tables } from '../driver.ts';
import type { Reads } from '../driver-store.ts';
import type { InputOf, OutputOf, StoreLink } from '../link.ts';
import { copyOf, unavailable } from '../refusals.ts';
import { claimTaken } from '../semantics/claiming.ts';
import { endStarts } from '../semantics/ending.ts';
import { inOrder } from '../semantics/in-order.ts';
import { operations, type TableOperations } from '../semantics/operations.ts';
import { type PruningStep, prune } from '../semantics/pruning.ts';
import { quarantineQueries } from '../semantics/quarantine.ts';
import { record, take } from '../semantics/recording.ts';
import { endsOf, settle } from '../semantics/settling.ts';
import type { Database } from './database.ts';
import type { DatabaseClock } from './database-clock.ts';
import { Frontier, type FrontierSession } from './frontier.ts';
import { Gathering } from './gathering.ts';
import { OldMonths } from './old-months.ts';
import { queriesOf } from './queries/index.ts';
import { reasonOf } from './reasons.ts';
import { tablesOf } from './tables/index.ts';
import { hasUntaken } from './tables/ledger.ts';
import { quarantineReads } from './tables/quarantine.ts';

type Entry = InputOf<TableOperations, 'record'>;
type Recorded = OutputOf<TableOperations, 'record'>;
type Settling = InputOf<TableOperations, 'settle'>;
type ClaimRequest = InputOf<TableOperations, 'claim'>;
type Claimed = OutputOf<TableOperations, 'claim'>;
type Renewal = InputOf<TableOperations, 'renew'>;
type Renewed = OutputOf<TableOperations, 'renew'>;

/**
 * What a crash of the database server may undo: an event that was settled then runs again, and can tell. A claim and its renewal
 * are on disk before anything runs under them: if one were undone, another process would run the event beside this one.
 */
const RELAXED: ReadonlySet<string> = new Set(['settle', 'take', 'holds', 'step']);

/** What comes all the time. */
const FREQUENT: ReadonlySet<string> = new Set([
  'claim',
  'renew',
  'settle',
  'take',
  'holds',
  'step',
  'saveStep',
]);

/** How many batches of notifications are under way at once: the next one is sent while the disk writes the one before. */
const ACKS_UNDER_WAY = 2;
/** How long an ack waits for the server; then the answer is 503. What was sent by then may be recorded all the same. */
const ACK_MS = 5000;

/** By which share of a lease the time of a request may differ from that of the server, and by what in any case: it may have waited. */
const DIFFERS_BY = 1 / 4;
const DIFFERS_BY_MS = 500;
const MOST_TIMES = 5;
const UNCERTAIN =
  'each transaction that gives leases takes longer than a quarter of LEASE_MS: make that longer';

/** Thrown within a transaction, to undo it. */
class OtherTime extends Error {}

/** The operations of a store: acks as single statements of many rows, all else in transactions. */
export class WriteLink implements StoreLink<TableOperations> {
  readonly #database: Database;
  readonly #records: Gathering<Entry, Recorded>;
  readonly #settles: Gathering<Settling, boolean>;
  readonly #oldMonths: OldMonths;
  readonly #frontier: Frontier;
  readonly #underWay = new UnderWay();
  readonly #time: DatabaseClock | undefined;
  #isTaking = false;

  /**
   * @param timed measures how long each commit of acks takes
   * @param time by which requests say what time it is, where that is the server's
   */
  constructor(
    database: Database,
    clock: MonotonicClock,
    timed: <T>(work: () => Promise<T>) => Promise<T>,
    time?: DatabaseClock,
  ) {
    this.#database = database;
    this.#time = time;
    this.#frontier = new Frontier({
      now: () => (time ?? clock).now(),
      monotonic: () => clock.monotonic(),
      after: (ms, run) => clock.after(ms, run),
    });
    this.#oldMonths = new OldMonths(database);
    this.#records = new Gathering<Entry, Recorded>(
      (entries) => timed(() => record(tablesOf(database.frequent), entries)),
      { lanes: ACKS_UNDER_WAY, patience: { clock, ms: ACK_MS } },
    );
    this.#settles = new Gathering<Settling, boolean>((settlings) =>
      this.#transaction('settle', (tables) => settle(tables, settlings)),
    );
  }

  request<N extends keyof TableOperations & string>(
    name: N,
    input: InputOf<TableOperations, N>,
  ): Promise<OutputOf<TableOperations, N>> {
    return this.#underWay.of(() => this.#do(name, ownOf(name, input))) as Promise<
      OutputOf<TableOperations, N>
    >;
  }

  close(): Promise<void> {
    return this.#underWay.end();
  }

  #do(name: string, input: unknown): Promise<unknown> {
    if (name === 'record') return this.#records.request(input as Entry);
    if (name === 'settle') return this.#settles.request(input as Settling);
    if (name === 'claim') return this.#claim(input as ClaimRequest);
    if (name === 'renew') return this.#renew(input as Renewal);
    // As acks do: where those fail, health checks must say so.
    if (name === 'ping') return Promise.resolve(tablesOf(this.#database.frequent).ping());
    if (name === 'prune') return this.#prune(input as PruningStep);
    const operate = operations[name as keyof typeof operations] as (
      tables: Tables,
      input: unknown,
    ) => unknown;
    return this.#transaction(name, async (tables) => operate(tables, input));
  }

  /**
   * Ends what has just ended in the same transaction: a claim that overtook it would find its lanes taken. Where the owner has events left, the
   * two go side by side on connections of their own: a claim locks lanes that are free, a result those that are leased.
   */
  async #claim(request: ClaimRequest): Promise<Claimed> {
    if (request.isAhead) {
      // For a claim that waits for what is new: that one tells what fails.
      if (!this.#isTaking) void this.#underWay.of(() => this.#take()).catch(() => undefined);
      return this.#atItsTime('claim', request, (tables, now) => claimTaken(tables, { ...request, now }));
    }
    return this.#settles.with(async (settlings) => {
      const isBehind = (await this.#take()) ? undefined : true;
      return this.#atItsTime('claim', request, async (tables, now) => {
        const { isHeld, ends } = await endsOf(tables, settlings);
        const [, done] = await inOrder(endStarts(tables, ends), claimTaken(tables, { ...request, now }));
        return { outputs: isHeld, done: { ...done, isBehind } };
      });
    });
  }

  #renew({ until, ...renewal }: Renewal): Promise<Renewed> {
    const leaseMs = until - renewal.now;
    return this.#atItsTime('renew', { now: renewal.now, leaseMs }, async (tables, now) =>
      operations.renew(tables, { ...renewal, now, until: now + leaseMs }),
    );
  }

  /**
   * Gives or extends leases in a transaction that is undone and done anew where the server says that it is another time: the machine has
   * slept since it asked, or an answer came late. By a time that is behind, leases have run out when they are given; by one that is
   * ahead, those of others are taken over while they last.
   */
  async #atItsTime<T>(
    name: string,
    { now, leaseMs }: { readonly now: number; readonly leaseMs: number },
    work: (tables: Tables, now: number) => Promise<T>,
  ): Promise<T> {
    const mayDiffer = Math.max(leaseMs * DIFFERS_BY, DIFFERS_BY_MS);
    for (let tries = 1, at = now; ; tries++, at = this.#time?.now() ?? at) {
      let there: number | undefined;
      const onTime = (time: number) => {
        there = time;
      };
      const inTime = async (tables: Tables) => {
        const done = await work(tables, at);
        if (this.#time && there !== undefined && Math.abs(there - at) > mayDiffer) throw new OtherTime();
        return done;
      };
      try {
        return await this.#transaction(name, inTime, onTime);
      } catch (error) {
        if (!(error instanceof OtherTime) || there === undefined) throw error;
        if (tries === MOST_TIMES) throw unavailable(UNCERTAIN);
        this.#time?.correct(there);
      }
    }
  }

  /** Taking holds up other processes that take, and leasing waits for nobody: so they are apart. */
  async #take(): Promise<boolean> {
    this.#isTaking = true;
    try {
      if (!(await hasUntaken(this.#database.frequent))) return true;
      return await this.#transaction('take', (tables) => take(tables));
    } finally {
      this.#isTaking = false;
    }
  }

  #prune(step: PruningStep): Promise<number> {
    return this.#oldMonths.prune(step, (one) => this.#transaction('prune', (tables) => prune(tables, one)));
  }

  async #transaction<T>(
    name: string,
    work: (tables: Tables) => Promise<T>,
    onTime?: (there: number) => void,
  ): Promise<T> {
    const tries: FrontierSession[] = [];
    const done = await this.#database
      .transaction(
        (session) => {
          const frontier = this.#frontier.begin();
          tries.push(frontier);
          return work(tablesOf(session, frontier, onTime));
        },
        { isDurable: !RELAXED.has(name), isByKeys: true, isFrequent: FREQUENT.has(name) },
      )
      .catch((error) => {
        for (const frontier of tries) frontier.end(false);
        throw error;
      });
    tries.forEach((frontier, index) => void frontier.end(index === tries.length - 1));
    return done;
  }
}

/**
 * An input that nobody else changes. A notification has a body that is not copied for nothing; of a result that changes no state all is texts
 * and numbers.
 */
function ownOf(name: string, input: unknown): unknown {
  if (name === 'record') return input;
  if (name !== 'settle') return copyOf(name, input);
  const { settlement, ...settling } = input as Settling;
  const { state, error } = settlement;
  const isFlat = state === undefined && (error === undefined || typeof error === 'string');
  return isFlat ? { ...settling, settlement: { ...settlement } } : copyOf(name, input);
}

/** The queries of readers, on connections of their own, so that they never keep an ack waiting. */
export class ReadLink implements StoreLink<Reads> {
  readonly #database: Database;
  readonly #underWay = new UnderWay();

  constructor(database: Database) {
    this.#database = database;
  }

  request<N extends keyof Reads & string>(name: N, input: InputOf<Reads, N>): Promise<OutputOf<Reads, N>> {
    return this.#underWay.of(() =>
      this.#database.transaction(
        async (session) => {
          if (Object.hasOwn(quarantineQueries, name)) {
            const query = quarantineQueries[name as keyof typeof quarantineQueries] as Query;
            return (await query(quarantineReads(session), input)) as OutputOf<Reads, N>;
          }
          const queries = queriesOf(session) as Readonly<Record<string, (input: unknown) => unknown>>;
          return (await queries[name]?.(input)) as OutputOf<Reads, N>;
        },
        { isReadOnly: true, isByKeys: true },
      ),
    );
  }

  close(): Promise<void> {
    return this.#underWay.end();
  }
}

type Query = (tables: ReturnType<typeof quarantineReads>, input: unknown) => Promise<unknown>;

/** The requests under way, which are waited for at the end. */
class UnderWay {
  readonly #all = new Set<Promise<unknown>>();
  #isClosed = false;

  async of<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw unavailable('the store is closed');
    let done: Promise<T> | undefined;
    try {
      done = work();
      this.#all.add(done);
      return await done;
    } catch (error) {
      throw error instanceof KitError ? error : unavailable(reasonOf(error));
    } finally {
      if (done) this.#all.delete(done);
    }
  }

  async end(): Promise<void> {
    this.#isClosed = true;
    while (this.#all.size > 0) await Promise.allSettled(this.#all);
  }
}
