import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { pauseUntilAborted, within } from '../base/pause.ts';
import { repeat } from '../base/repeat.ts';
import { RepeatedLine } from '../base/repeated-line.ts';
import { textOf } from '../base/thrown.ts';
import type { Observer } from '../observer.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { Claim, EventStore, Settlement } from '../store/event-store.ts';
import { newOwner } from '../store/owner.ts';
import { ClaimShares } from './claim-shares.ts';
import { ClaimsAhead } from './claims-ahead.ts';
import type { Handlers } from './handler.ts';
import { LeaseLost, type WaitingStep } from './once.ts';
import { giveUp, type Run, runHandler } from './run-handler.ts';
import { runStoreOf } from './run-store.ts';
import { type RetryPolicy, releaseOf, settlementOf } from './settlement.ts';
import { Takeover } from './takeover.ts';

export interface DispatcherOptions {
  readonly store: EventStore;
  readonly handlers: Handlers;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  /** the name of this process; each attempt has it in its record */
  readonly instance: string;
  /** handlers at once */
  readonly concurrency: number;
  readonly handlerTimeoutMs: number;
  readonly leaseMs: number;
  readonly retry: RetryPolicy;
  /** the value of `ctx.statuses` in handlers */
  readonly statuses?: StatusesClient | undefined;
  /** the value of `ctx.app` in handlers */
  readonly app?: unknown;
  readonly observer?: Observer | undefined;
}

/** An event that is leased, from its claim until its result is stored. */
interface Running {
  readonly claim: Claim;
  readonly abort: AbortController;
  /** whether the handler still runs; if not, only its result is to be stored */
  isAtWork: boolean;
  /** the steps of its handler that wait for the store */
  waiting: () => readonly WaitingStep[];
  /** from when on its lease runs: when it was asked for, or renewed; by the monotonic clock */
  leasedAt: number;
  done: Promise<void>;
  /** at the end of a stop: resolves when it waits for the store no more, without an end */
  left: PromiseWithResolvers<void> | undefined;
}

const IGNORES_SIGNAL =
  'the handler ignores ctx.signal and still runs; its event runs again once its lease has run out';
const STEP_WAITS = 'a step of ctx.once waits for the store; the event runs again once its lease has run out';
const STEP_NOT_STORED =
  'cannot store the result of a step before the stop; the event runs again once its lease has run out, and the step with it';
const NOT_STORED = 'cannot store a result before the stop; the event runs again once its lease has run out';

/** How soon events that another process recorded or replayed are noticed. */
const POLL_MS = 500;
/** How long new events gather: they share a claim and its commits, and those of one resource that came out of order get into it. */
export const GATHER_MS = 25;
const LOST_WHILE_RUNNING = 'the lease was lost while the handler ran; another process has the event';
const LOST_UNSTARTED = 'the lease was lost before the handler began; another process has the event';
/**
 * How many handlers start before requests and answers of the store have their turn: those that end at once hold them up. Where more events
 * came in a turn, as many start: handlers keep their share however many connections there are.
 */
const MOST_IN_TURN = 16;
/** How often leases are renewed while they last. */
const RENEWALS = 3;
/** How soon a write that failed is tried again. */
const STORE_RETRY_MS = 1000;
/** How long handlers may take to end once their signals are aborted at a stop. */
const ABORT_GRACE_MS = 1000;
/** How long what waits for the store may take after that: for longer than SQLite waits for a lock, and not for a server that hangs. */
const LAST_TRY_MS = 6000;

/** Resolves when the callbacks and promises of this turn of the event loop have run. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Claims events and runs their handlers until each has succeeded or is dead. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #owner: string;
  /** one event may be here twice: in a run whose lease was lost and that goes on, and in a later one */
  readonly #running = new Set<Running>();
  /** how many handlers run */
  #busy = 0;
  /** how many were started in this turn of the event loop, and how many events came */
  #startedInTurn = 0;
  #cameInTurn = 0;
  #unstored = 0;
  readonly #toldUnstored = new WeakSet<Claim>();
  /** whether the last claim took all that it asked for: more may be ready */
  #isBacklog = false;
  readonly #takeover: Takeover;
  readonly #cannotClaim: RepeatedLine;
  readonly #cannotRenew: RepeatedLine;
  readonly #ahead: ClaimsAhead;
  readonly #shares: ClaimShares;
  #claiming: Promise<void> | undefined;
  #gathering: Promise<void> | undefined;
  #endGathering = () => {};
  #wokenMeanwhile = false;
  #stopped = true;
  /** aborted when a stop is over: from then on nothing waits for the store */
  #over = new AbortController();
  #cancelPoll = () => {};
  #cancelRenewal = () => {};
  #endChecks = () => {};

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#owner = newOwner(options.instance);
    const { clock, log, leaseMs } = options;
    this.#takeover = new Takeover(clock, leaseMs);
    this.#cannotClaim = new RepeatedLine(clock, (fields) =>
      log.error(fields, 'cannot claim events; trying again'),
    );
    this.#cannotRenew = new RepeatedLine(clock, (fields) =>
      log.error(fields, 'cannot renew leases; trying again'),
    );
    this.#ahead = new ClaimsAhead(clock, { ...options, storeRuns: options.store.runs });
    this.#shares = new ClaimShares(clock);
  }

  /** How many results the last stop could not store. Their events run again once the leases have run out. */
  get unstored(): number {
    return this.#unstored;
  }

  start(): void {
    this.#stopped = false;
    this.#unstored = 0;
    this.#over = new AbortController();
    this.#takeover.reached(this.#options.clock.now());
    this.#scheduleRenewal();
    if (this.#options.store.runs === 'on a server') this.#checkLeases();
    this.wake();
  }

  /** Tells the dispatcher that events may be ready. */
  wake(): void {
    this.#wokenMeanwhile = true;
    if (this.#stopped) return;
    // Once for all handlers that end in one turn of the event loop, whose results it then shares a commit with.
    this.#claiming ??= endOfTurn()
      .then(() => this.#claimAll())
      .finally(() => {
        this.#claiming = undefined;
        if (this.#wokenMeanwhile && this.#hasRoom()) this.wake();
      });
  }

  /** Tells the dispatcher that a new event is on disk. Events that come at short intervals are claimed together, between acks. */
  wakeSoon(): void {
    this.#ahead.came();
    this.#shares.came();
    this.#cameInTurn++;
    this.#gather();
  }

  #gather(): void {
    if (this.#stopped) return;
    this.#gathering ??= new Promise((resolve) => {
      const end = () => {
        this.#gathering = undefined;
        resolve();
      };
      const cancel = this.#options.clock.after(GATHER_MS, () => {
        end();
        this.wake();
      });
      this.#endGathering = () => {
        cancel();
        end();
      };
    });
  }

  /** Resolves when nothing is running or being claimed. It does not wait for new events to gather, but claims what there is. */
  async idle(): Promise<void> {
    while (this.#gathering || this.#claiming || this.#running.size > 0) {
      if (this.#gathering) {
        this.#endGathering();
        this.wake();
      }
      await this.#claiming;
      await Promise.all([...this.#running].map(({ done }) => done));
    }
  }

  /**
   * Stops claiming, lets handlers end for so many milliseconds, and aborts the others. The event of a handler that ends at
   * the abort is released. A handler that ignores the abort keeps its lease: if it were released, another process would
   * run the event beside it.
   * @returns how many handlers still run: the caller should end the process, as nothing renews their leases any more
   */
  async stop(graceMs: number): Promise<number> {
    this.#stopped = true;
    this.#endGathering();
    this.#cancelPoll();
    this.#takeover.stop();
    this.#giveBack(this.#ahead.clear());
    await this.#endWithin(graceMs);
    for (const { claim, abort, isAtWork } of this.#running) {
      if (isAtWork) giveUp(claim, abort, new DOMException('the service is stopping', 'AbortError'));
    }
    await this.#endWithin(ABORT_GRACE_MS);
    for (const running of this.#running) running.left = Promise.withResolvers();
    this.#over.abort();
    // What waits for the store is tried once more; what a claim gets is given back.
    await this.#endWithin(LAST_TRY_MS, ({ isAtWork, waiting, done, left }) => {
      const isHandler = isAtWork && waiting().length === 0;
      return isHandler ? undefined : Promise.race([done, left?.promise ?? done]);
    });
    this.#cancelRenewal();
    this.#endChecks();
    for (const running of this.#running) this.#tellLeft(running);
    return [...this.#running].filter(({ isAtWork }) => isAtWork).length;
  }

  /** Says of an event that has not ended at the end of a stop why that is. */
  #tellLeft({ claim, isAtWork, waiting }: Running): void {
    const { log } = this.#options;
    const steps = waiting();
    const ran = steps.filter(({ hasRun }) => hasRun).map(({ step }) => step);
    if (!isAtWork) this.#tellUnstored(claim, { error: 'the store does not answer' });
    else if (ran.length > 0) {
      this.#unstored++;
      log.error({ ...lineOf(claim), steps: ran }, STEP_NOT_STORED);
    } else if (steps.length > 0) {
      log.warn({ ...lineOf(claim), steps: steps.map(({ step }) => step) }, STEP_WAITS);
    } else log.warn(lineOf(claim), IGNORES_SIGNAL);
  }

  /** Says once of an event that the stop could not store its result. */
  #tellUnstored(claim: Claim, why: Readonly<Record<string, string>>): void {
    if (this.#toldUnstored.has(claim)) return;
    this.#toldUnstored.add(claim);
    this.#unstored++;
    this.#options.log.error({ ...lineOf(claim), ...why }, NOT_STORED);
  }

  /** The places of all events that it has claimed and that have not ended. */
  #has(): readonly number[] {
    return [...this.#running].map(({ claim }) => claim.place).concat(this.#ahead.places);
  }

  /** How many events it asks for, if it does so now: for free handlers and beyond. */
  #room(): number {
    const free = this.#options.concurrency - this.#busy - this.#ahead.size;
    if (this.#stopped || (free <= 0 && !this.#ahead.isLow)) return 0;
    return Math.max(0, free + this.#ahead.reach);
  }

  #hasRoom(): boolean {
    return this.#room() > 0;
  }

  /** Starts what waits for a handler to be free. */
  #startNext(): void {
    this.#giveBack(this.#ahead.expired());
    while (!this.#stopped && this.#busy < this.#options.concurrency && this.#mayStart()) {
      const next = this.#ahead.next();
      if (!next) return;
      this.#start(next);
      if (++this.#startedInTurn === 1)
        setImmediate(() => {
          this.#startedInTurn = 0;
          this.#cameInTurn = 0;
          this.#startNext();
        });
    }
  }

  #mayStart(): boolean {
    return this.#startedInTurn < Math.max(MOST_IN_TURN, this.#cameInTurn);
  }

  /** Releases events that were claimed and not started. */
  #giveBack(claims: readonly Claim[]): void {
    const settlement = { status: 'pending', outcome: 'interrupted', isUnstarted: true } as const;
    for (const claim of claims)
      this.#keep({ claim, isAtWork: false }, () => this.#untilStored(claim, settlement));
  }

  /** Keeps a leased event until what is done with it has ended: a stop waits for that. */
  #keep(
    { leasedAt = 0, ...start }: Pick<Running, 'claim' | 'isAtWork'> & Partial<Pick<Running, 'leasedAt'>>,
    work: (running: Running) => Promise<unknown>,
  ): void {
    const abort = new AbortController();
    const running: Running = {
      ...start,
      abort,
      waiting: () => [],
      leasedAt,
      done: Promise.resolve(),
      left: undefined,
    };
    this.#running.add(running);
    running.done = work(running)
      .then(() => {})
      .finally(() => this.#running.delete(running));
  }

  /**
   * Waits so long at most until nothing is claimed and nothing runs. Where the database is locked, a claim takes a while.
   * @param endOf what is awaited of an event
   */
  async #endWithin(
    ms: number,
    endOf: (running: Running) => Promise<void> | undefined = ({ done }) => done,
  ): Promise<void> {
    if (this.#running.size === 0 && !this.#claiming) return;
    const all = Promise.resolve(this.#claiming).then(() => Promise.all([...this.#running].map(endOf)));
    await within(this.#options.clock, ms, all);
  }

  async #claimAll(): Promise<void> {
    const { store, leaseMs, retry, clock } = this.#options;
    let dueInMs: number | undefined;
    this.#cancelPoll();
    this.#giveBack(this.#ahead.overdue());
    while (this.#wokenMeanwhile && this.#hasRoom()) {
      const limit = this.#room();
      this.#wokenMeanwhile = false;
      this.#ahead.asked();
      try {
        const { maxAttempts } = retry;
        const askedAt = clock.now();
        const shares = this.#shares.asked(limit);
        const spareLost = !this.#takeover.isAllowed();
        const claimed = await store.claim({
          owner: this.#owner,
          has: this.#has(),
          limit,
          ...shares,
          leaseMs,
          maxAttempts,
          spareLost,
          isAhead: this.#ahead.size > 0,
        });
        this.#isBacklog = claimed.claims.length >= limit;
        this.#shares.got(claimed.claims, shares, this.#isBacklog);
        this.#ahead.got(claimed.claims.length, this.#isBacklog);
        this.#takeover.reached(askedAt);
        dueInMs = claimed.dueInMs;
        if (claimed.isBehind) this.#wokenMeanwhile = true;
        for (const claim of claimed.claims) this.#ahead.add(claim, askedAt);
        if (this.#stopped) this.#giveBack(this.#ahead.clear());
        else this.#startNext();
      } catch (error) {
        this.#cannotClaim.write({ error: messageOf(error) });
      }
    }
    const wait = Math.min(POLL_MS, dueInMs ?? POLL_MS);
    if (!this.#stopped) this.#cancelPoll = clock.after(wait, () => this.wake());
  }

  #start({ claim, waitedMs, leasedForMs }: NonNullable<ReturnType<ClaimsAhead['next']>>): void {
    this.#busy++;
    const leasedAt = this.#options.clock.monotonic() - leasedForMs;
    this.#keep({ claim, isAtWork: true, leasedAt }, (running) => this.#handle(running, waitedMs));
  }

  async #handle(running: Running, waitedMs: number): Promise<void> {
    const { claim, abort } = running;
    const startedAt = this.#options.clock.now();
    const { store, handlers, clock, log, handlerTimeoutMs: timeoutMs, retry, statuses, app } = this.#options;
    const run = await runHandler(claim, abort, {
      handlers,
      store: runStoreOf(store, claim, this.#owner),
      clock,
      log,
      timeoutMs,
      statuses,
      app,
      isStopping: () => this.#stopped,
      isStopOver: () => this.#over.signal.aborted,
      onLeft: () => running.left?.resolve(),
      onSteps: (waiting) => {
        running.waiting = waiting;
      },
    }).catch((error): Run => ({ type: 'error', reason: textOf(error) }));
    running.isAtWork = false;
    this.#busy--;
    const ranMs = Math.max(0, clock.now() - startedAt);
    this.#ahead.ended(ranMs);
    const isCutShort = this.#stopped && abort.signal.aborted && run.type === 'error';
    const ending = isCutShort ? releaseOf(claim, retry) : settlementOf(run, claim.attempts, retry);
    const settlement = { ...ending, waitedMs, ranMs };
    report(log, claim, run, settlement);
    const { status, outcome, isUncounted } = settlement;
    const ended = { id: claim.id, kind: claim.kind, outcome, status, ms: ranMs };
    const stored = this.#untilStored(claim, settlement).then((isStored) => {
      if (isStored && !isUncounted) this.#options.observer?.ran(ended);
    });
    this.#startNext();
    // With nothing to claim, a claim costs the store as much as with something.
    const isMore = this.#wokenMeanwhile || claim.hasMore || this.#isBacklog || this.#ahead.manyCame;
    if (isMore || status === 'pending') {
      this.#wokenMeanwhile = true;
      if (this.#hasRoom()) this.wake();
    } else this.#gather();
    await stored;
  }

  /**
   * Keeps a result until the store takes it, or a stop is over: then the lease runs out and the event runs again.
   * @returns whether the store has it
   */
  async #untilStored(claim: Claim, settlement: Settlement): Promise<boolean> {
    const { store, clock, log } = this.#options;
    const { status, outcome } = settlement;
    for (let isFirstTry = true; ; isFirstTry = false) {
      const over = this.#over.signal;
      try {
        if (await store.settle(claim, this.#owner, settlement)) return true;
        if (!isFirstTry && (await this.#hasRecord(claim, outcome))) return true; // the answer to an earlier try was lost
        if (settlement.isUnstarted) log.info(lineOf(claim), LOST_UNSTARTED);
        else log.error(lineOf(claim), LOST_WHILE_RUNNING);
        return false;
      } catch (thrown) {
        const why = { outcome, status, error: messageOf(thrown) };
        // A try that began before the stop was over has waited for the store as long as another one would.
        if (over.aborted) {
          this.#tellUnstored(claim, why);
          return false;
        }
        log.error({ ...lineOf(claim), ...why }, 'cannot store a result; trying again');
        await pauseUntilAborted(clock, STORE_RETRY_MS, over);
      }
    }
  }

  /** Whether the store has the record of a start of this process. */
  async #hasRecord({ id, starts, replays }: Claim, outcome: Settlement['outcome']): Promise<boolean> {
    const { store, instance } = this.#options;
    return (await store.attempts(id)).some(
      (one) =>
        one.attempt === starts &&
        one.replay === replays &&
        one.instance === instance &&
        one.outcome === outcome,
    );
  }

  #scheduleRenewal(afterMs = this.#options.leaseMs / RENEWALS): void {
    let isCancelled = false;
    const cancel = this.#options.clock.after(afterMs, async () => {
      const isDone = await this.#renew();
      if (isCancelled) return;
      // The store may be there for a moment only, in which others reach it and take over what has run out.
      if (isDone) this.#scheduleRenewal();
      else this.#scheduleRenewal(this.#soonMs());
    });
    this.#cancelRenewal = () => {
      isCancelled = true;
      cancel();
    };
  }

  /** A small part of a lease. */
  #soonMs(): number {
    return Math.min(this.#options.leaseMs / RENEWALS / 10, STORE_RETRY_MS);
  }

  /**
   * Aborts handlers before their leases run out unrenewed: from then on another process may run their events. Changes of the time of
   * day do not matter: after one, or after the machine slept, the next renewal tells.
   */
  #checkLeases(): void {
    const { clock, leaseMs } = this.#options;
    const everyMs = this.#soonMs();
    this.#endChecks = repeat(clock, everyMs, async () => {
      const before = clock.monotonic() - leaseMs + everyMs;
      for (const { claim, abort, isAtWork, leasedAt } of this.#running) {
        if (isAtWork && leasedAt <= before && !abort.signal.aborted)
          giveUp(claim, abort, new LeaseLost('the lease was not renewed in time'));
      }
      return everyMs;
    });
  }

  /** @returns whether the leases of all events that it has are renewed, or known to be lost */
  async #renew(): Promise<boolean> {
    if (this.#running.size + this.#ahead.size === 0) return true;
    const { store, leaseMs, clock } = this.#options;
    const before = [...this.#running];
    const askedAt = clock.now();
    const leasedAt = clock.monotonic();
    try {
      const held = new Set(await store.renew(this.#owner, leaseMs, this.#has()));
      this.#takeover.reached(askedAt);
      this.#ahead.renewed(held, askedAt);
      for (const running of before) {
        const { claim, abort } = running;
        if (held.has(claim.id)) running.leasedAt = leasedAt;
        else if (this.#running.has(running)) giveUp(claim, abort, new LeaseLost('the lease is lost'));
      }
      return true;
    } catch (error) {
      this.#cannotRenew.write({ error: messageOf(error) });
      return false;
    }
  }
}

/** The members by which log lines name a start. */
function lineOf({ id, kind, resource, starts }: Claim) {
  return { event: id, kind, resource, attempt: starts };
}

function report(log: Logger, claim: Claim, run: Run, { status, outcome, error }: Settlement): void {
  const line = { ...lineOf(claim), status };
  if (outcome === 'interrupted' && status === 'dead') log.error({ ...line, reason: error }, 'event given up');
  else if (outcome === 'interrupted') log.info(line, 'the stop interrupted a handler; its event runs again');
  else if (run.type === 'handled') log.debug(line, 'event handled');
  else if (run.type === 'skip' || run.type === 'retry')
    log.info({ ...line, reason: run.reason }, `event ${status}`);
  else log.error({ ...line, reason: run.reason }, status === 'dead' ? 'event given up' : 'handler failed');
}
