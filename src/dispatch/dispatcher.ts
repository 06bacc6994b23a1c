import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { pauseUntilAborted, within } from '../base/pause.ts';
import { repeatedLine } from '../base/repeated-line.ts';
import { textOf } from '../base/thrown.ts';
import type { Observer } from '../observer.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { Claim, EventStore, Settlement } from '../store/event-store.ts';
import type { Handlers } from './handler.ts';
import { type Leased, Leases } from './leases.ts';
import { Polling } from './polling.ts';
import { lineOf } from './process-guard.ts';
import { giveUp, type Run, runHandler } from './run-handler.ts';
import { endingOf, RELEASE, type RetryPolicy } from './settlement.ts';
import { Wanted } from './wanted.ts';

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
  /** called at the end of a stop if handlers still run: the process should end, as nothing renews their leases any more */
  readonly onLeft?: (() => void) | undefined;
}

interface Running extends Leased {
  /** whether its handler still runs; if not, only its result is to be stored */
  isAtWork: boolean;
  /** resolves when it has ended and its result is stored, or never will be */
  done: Promise<void>;
}

/** How long new events gather, so that claims share the database with acks. */
export const GATHER_MS = 20;
/** How soon the store is tried again with a result that it did not take. */
const STORE_RETRY_MS = 1000;
const LOST = 'the lease was lost while the handler ran; another process has the event';
const IGNORES_SIGNAL =
  'the handler ignores ctx.signal and still runs; its event runs again once its lease has run out';
const NOT_STORED = 'cannot store a result before the stop; the event runs again once its lease has run out';
/** At a stop: how long handlers may take to end once their signals are aborted, and their results to be stored. */
const LAST_MS = 2000;

/** Claims events and runs their handlers until each has succeeded or is dead. It is started once. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #owner: string;
  readonly #running = new Set<Running>();
  readonly #leases: Leases;
  readonly #wanted: Wanted;
  readonly #polling: Polling;
  /** how many handlers run */
  #atWork = 0;
  #claiming: Promise<void> | undefined;
  #isClaimWanted = false;
  #isStopped = true;
  #unstored = 0;
  /** aborted when a stop is over: from then on no result is tried again */
  readonly #over = new AbortController();
  readonly #noAnswer: (fields: object) => void;
  #cancelGathering: (() => void) | undefined;
  #endLeases = () => {};

  constructor(options: DispatcherOptions) {
    const { store, clock, log, leaseMs, instance, concurrency, retry } = options;
    this.#options = options;
    this.#owner = instance;
    this.#wanted = new Wanted(concurrency);
    const failed = (error: unknown) => this.#storeFailed('renew leases', error);
    this.#leases = new Leases({ store, clock, leaseMs, onError: failed }, this.#running);
    this.#polling = new Polling({
      store,
      clock,
      maxAttempts: retry.maxAttempts,
      spareMs: this.#leases.renewalMs,
      held: () => [...this.#running].map(({ claim }) => claim.lease),
      onPoll: (resources) => this.#found(resources),
      onError: (error) => this.#storeFailed('look for events', error),
    });
    const noAnswer = 'the store does not answer; trying again';
    this.#noAnswer = repeatedLine(clock, (fields) => log.error(fields, noAnswer));
  }

  /** How many results the stop could not store. Their events run again once the leases have run out. */
  get unstored(): number {
    return this.#unstored;
  }

  start(): void {
    this.#isStopped = false;
    this.#endLeases = this.#leases.start();
    this.#polling.start();
  }

  /** An event of a resource that this process has just recorded is ready. */
  came(resource: string): void {
    if (this.#isStopped) return;
    this.#wanted.came(resource);
    this.#polling.often();
    this.#cancelGathering ??= this.#options.clock.after(GATHER_MS, () => this.#gathered());
  }

  #gathered(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = undefined;
    this.#wanted.gathered();
    this.#claim();
  }

  /** Something may be ready, such as events that were replayed. */
  wake(): void {
    this.#polling.often();
    this.#found([]);
  }

  #found(resources: readonly string[]): void {
    if (this.#isStopped) return;
    if (resources.length === 0) this.#wanted.backlog();
    else this.#wanted.more(resources);
    this.#claim();
  }

  /** Resolves when nothing runs or is claimed, and what is ready now has ended. */
  async idle(): Promise<void> {
    this.#wanted.backlog();
    this.#gathered();
    await this.#ended();
  }

  /** Claims as many events as handlers are free, as long as something is ready: none is leased ahead. One claim is under way at a time. */
  #claim(): void {
    this.#isClaimWanted = true;
    // Once for all handlers that end in this turn of the event loop.
    this.#claiming ??= setImmediate()
      .then(() => this.#claimFree())
      .finally(() => {
        this.#claiming = undefined;
        if (this.#isClaimWanted && !this.#isStopped) this.#claim();
      });
  }

  async #claimFree(): Promise<void> {
    const { store, clock, leaseMs, concurrency } = this.#options;
    this.#isClaimWanted = false;
    const running = new Set([...this.#running].map(({ claim }) => claim.resource));
    const asked = this.#isStopped ? undefined : this.#wanted.take(concurrency - this.#atWork, running);
    if (!asked) return;
    const askedAt = clock.monotonic();
    try {
      const claims = await store.claim({ ...asked, owner: this.#owner, leaseMs });
      const resources = claims.map(({ resource }) => resource);
      this.#wanted.got(asked, resources);
      for (const claim of claims) this.#take(claim, askedAt);
      this.#isClaimWanted = true; // there may be more
    } catch (error) {
      this.#wanted.backlog(); // and the next poll tries again
      this.#storeFailed('claim events', error);
    }
  }

  #take(claim: Claim, leasedAt: number): void {
    const { clock } = this.#options;
    const running: Running = {
      claim,
      leasedAt,
      isLost: false,
      isAtWork: false,
      abort: new AbortController(),
      done: Promise.resolve(),
    };
    this.#running.add(running);
    const end = this.#isStopped
      ? this.#store(claim, { ...RELEASE, startedAt: clock.now(), ms: 0 })
      : this.#handle(running);
    running.done = end.then(() => {
      this.#running.delete(running);
      this.#claim(); // more of the resource may be ready
    });
  }

  async #handle(running: Running): Promise<void> {
    const { claim, abort } = running;
    const { clock, log, handlerTimeoutMs: timeoutMs, retry, observer } = this.#options;
    const [startedAt, began] = [clock.now(), clock.monotonic()];
    const onStoreError = (error: unknown) => this.#storeFailed('store a step of ctx.once', error, claim);
    running.isAtWork = true;
    this.#atWork++;
    const run = await runHandler(claim, abort, { ...this.#options, timeoutMs, onStoreError }).catch(
      (error): Run => ({ type: 'error', reason: textOf(error) }),
    );
    running.isAtWork = false;
    this.#atWork--;
    this.#claim();
    const isCutShort = this.#isStopped && abort.signal.aborted && run.type === 'error';
    const ending = isCutShort ? RELEASE : endingOf(run, claim, retry, clock.now());
    const ms = Math.max(0, Math.round(clock.monotonic() - began));
    report(log, claim, ending);
    if (!(await this.#store(claim, { ...ending, startedAt, ms })) || isCutShort) return;
    const { status, outcome } = ending;
    observer?.ran({ id: claim.id, kind: claim.kind, outcome, status, ms });
  }

  /** Keeps a result until the store takes it, or a stop is over. @returns whether the store has it */
  async #store(claim: Claim, settlement: Settlement): Promise<boolean> {
    const { store, clock, log } = this.#options;
    for (;;) {
      try {
        const { isHeld, hasMore } = await store.settle(claim, settlement);
        if (hasMore) this.#wanted.more([claim.resource]);
        if (settlement.status === 'pending') this.#polling.often();
        if (!isHeld) log.error(lineOf(claim), LOST);
        return isHeld;
      } catch (error) {
        if (this.#over.signal.aborted) return false; // the stop has told of it
        this.#storeFailed('store a result', error, claim);
        await pauseUntilAborted(clock, STORE_RETRY_MS, this.#over.signal);
      }
    }
  }

  #storeFailed(what: string, error: unknown, claim?: Claim): void {
    this.#polling.spare();
    this.#noAnswer({ ...(claim && lineOf(claim)), cannot: what, error: messageOf(error) });
  }

  /**
   * Stops claiming, lets handlers end for so many milliseconds, and aborts the others. The event of a handler that ends at
   * the abort is released. A handler that ignores the abort keeps its lease: if it were released, another process would
   * run the event beside it.
   * @returns how many handlers still run
   */
  async stop(graceMs: number): Promise<number> {
    this.#isStopped = true;
    this.#cancelGathering?.();
    this.#polling.stop();
    await this.#endWithin(graceMs);
    for (const { claim, abort, isAtWork } of this.#running)
      if (isAtWork) giveUp(claim, abort, new DOMException('the service is stopping', 'AbortError'));
    await this.#endWithin(LAST_MS);
    this.#endLeases();
    this.#over.abort();
    const { log, onLeft } = this.#options;
    let left = 0;
    for (const { claim, isAtWork } of this.#running) {
      if (isAtWork) {
        left++;
        log.warn(lineOf(claim), IGNORES_SIGNAL);
      } else {
        this.#unstored++;
        log.error(lineOf(claim), NOT_STORED);
      }
    }
    if (left > 0) onLeft?.();
    return left;
  }

  /** Waits so long at most until nothing is claimed and nothing runs. */
  async #endWithin(ms: number): Promise<void> {
    if (this.#isBusy) await within(this.#options.clock, ms, this.#ended());
  }

  get #isBusy(): boolean {
    return this.#claiming !== undefined || this.#polling.underWay !== undefined || this.#running.size > 0;
  }

  async #ended(): Promise<void> {
    while (this.#isBusy) {
      await Promise.all([this.#polling.underWay, this.#claiming]);
      await Promise.all([...this.#running].map(({ done }) => done));
    }
  }
}

function report(log: Logger, claim: Claim, { status, outcome, error }: Settlement | typeof RELEASE): void {
  const line = { ...lineOf(claim), status, ...(error !== undefined && { reason: error }) };
  if (outcome === 'handled') log.debug(line, 'event handled');
  else if (outcome === 'interrupted') log.info(line, 'the stop interrupted a handler; its event runs again');
  else if (status === 'dead') log.error(line, 'event given up');
  else if (outcome === 'skipped' || outcome === 'retry') log.info(line, `event ${status}`);
  else log.error(line, 'handler failed');
}

/** Of results that a stop could not store. */
export function notStored(results: number): KitError {
  const told = results === 1 ? 'a result' : `${results} results`;
  return new KitError(
    'STORE_UNAVAILABLE',
    `${told} could not be stored; the log names each event, which runs again`,
  );
}
