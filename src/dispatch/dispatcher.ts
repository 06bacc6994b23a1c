import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { textOf } from '../base/thrown.ts';
import type { Observer } from '../observer.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { EventId } from '../store/event-id.ts';
import type { Claim, EventStore } from '../store/event-store.ts';
import type { Handlers } from './handler.ts';
import { giveUp, type Run, runHandler } from './run-handler.ts';
import { runStoreOf } from './run-store.ts';
import { type RetryPolicy, settlementOf } from './settlement.ts';
import { Takeover } from './takeover.ts';

export interface DispatcherOptions {
  readonly store: EventStore;
  readonly handlers: Handlers;
  readonly clock: Clock;
  readonly log: Logger;
  /** handlers at once */
  readonly concurrency: number;
  readonly handlerTimeoutMs: number;
  readonly leaseMs: number;
  readonly retry: RetryPolicy;
  /** the value of `ctx.statuses` in handlers */
  readonly statuses?: StatusesClient | undefined;
  readonly observer?: Observer | undefined;
}

interface Running {
  readonly claim: Claim;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** How soon events that another process recorded or replayed are noticed. */
const POLL_MS = 500;
/** How long new events gather. */
const GATHER_MS = 5;
/** How soon a write that failed is tried again. */
const STORE_RETRY_MS = 1000;
/** How long handlers may take to end once their signals are aborted at a stop. */
const ABORT_GRACE_MS = 1000;

/** Resolves when the callbacks and promises of this turn of the event loop have run. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Claims events and runs their handlers until each has succeeded or is dead. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #owner = randomUUID();
  /** the leased events: their handlers run, or their results are being stored */
  readonly #running = new Map<EventId, Running>();
  /** how many handlers run */
  #busy = 0;
  readonly #takeover: Takeover;
  #claiming: Promise<void> | undefined;
  #gathering: Promise<void> | undefined;
  #endGathering = () => {};
  #wokenMeanwhile = false;
  #stopped = true;
  #cancelPoll = () => {};
  #cancelRenewal = () => {};

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#takeover = new Takeover(options.clock, options.leaseMs);
  }

  start(): void {
    this.#stopped = false;
    this.#takeover.reached(this.#options.clock.now());
    this.#scheduleRenewal();
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

  /** Resolves when nothing is running or being claimed. */
  async idle(): Promise<void> {
    while (this.#gathering || this.#claiming || this.#running.size > 0) {
      await this.#gathering;
      await this.#claiming;
      await Promise.all([...this.#running.values()].map(({ done }) => done));
    }
  }

  /** Stops claiming, lets handlers end for so many milliseconds, aborts the others, and releases the events that are left. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#endGathering();
    this.#cancelPoll();
    this.#takeover.stop();
    await this.#claiming;
    await this.#endWithin(graceMs);
    for (const { claim, abort } of this.#running.values()) {
      giveUp(claim, abort, new DOMException('the service is stopping', 'AbortError'));
    }
    await this.#endWithin(ABORT_GRACE_MS);
    this.#cancelRenewal();
    const released = await this.#options.store.release(this.#owner);
    if (released > 0)
      this.#options.log.warn({ released }, 'handlers did not end in time; their events were released');
  }

  #hasRoom(): boolean {
    return !this.#stopped && this.#busy < this.#options.concurrency;
  }

  async #endWithin(ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    const all = Promise.all([...this.#running.values()].map(({ done }) => done));
    let cancel = () => {};
    const elapsed = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(ms, resolve);
    });
    await Promise.race([all, elapsed]);
    cancel();
  }

  async #claimAll(): Promise<void> {
    const { store, concurrency, leaseMs, retry, clock, log } = this.#options;
    let nextDueAt: number | undefined;
    this.#cancelPoll();
    while (this.#wokenMeanwhile && this.#hasRoom()) {
      this.#wokenMeanwhile = false;
      const limit = concurrency - this.#busy;
      try {
        const { maxAttempts } = retry;
        const askedAt = clock.now();
        const spareLost = !this.#takeover.isAllowed();
        const claimed = await store.claim({ owner: this.#owner, limit, leaseMs, maxAttempts, spareLost });
        this.#takeover.reached(askedAt);
        nextDueAt = claimed.nextDueAt;
        for (const claim of claimed.claims) this.#start(claim);
      } catch (error) {
        log.error({ error: messageOf(error) }, 'cannot claim events; trying again');
      }
    }
    const wait = Math.max(0, Math.min(POLL_MS, (nextDueAt ?? Number.POSITIVE_INFINITY) - clock.now()));
    if (!this.#stopped) this.#cancelPoll = clock.after(wait, () => this.wake());
  }

  #start(claim: Claim): void {
    const abort = new AbortController();
    this.#busy++;
    const done = this.#handle(claim, abort).finally(() => {
      // After a lost lease, a later attempt may have claimed the event again before its first run has ended.
      if (this.#running.get(claim.id)?.abort === abort) this.#running.delete(claim.id);
    });
    this.#running.set(claim.id, { claim, abort, done });
  }

  async #handle(claim: Claim, abort: AbortController): Promise<void> {
    const { store, handlers, clock, log, handlerTimeoutMs: timeoutMs, retry, statuses } = this.#options;
    const run = await runHandler(claim, abort, {
      handlers,
      store: runStoreOf(store, claim, this.#owner),
      clock,
      log,
      timeoutMs,
      statuses,
      isStopping: () => this.#stopped,
    }).catch((error): Run => ({ type: 'error', reason: textOf(error) }));
    this.#busy--;
    // The stop cut this attempt short: its lease is released, and it does not count as a failure.
    if (this.#stopped && abort.signal.aborted && run.type === 'error') return;
    const settlement = settlementOf(run, claim.attempts, clock.now(), retry);
    report(log, claim, run, settlement.status);
    const { status, outcome } = settlement;
    const ended = { id: claim.id, kind: claim.kind, outcome, status, ms: clock.now() - claim.startedAt };
    const stored = this.#untilStored(async () => {
      if (await store.settle(claim, this.#owner, settlement)) return this.#options.observer?.ran(ended);
      log.error(
        { event: claim.id },
        'the lease was lost while the handler ran; another process has the event',
      );
    });
    this.wake();
    await stored;
  }

  /** Keeps a result until the store takes it. If that never happens, the lease runs out and the event runs again. */
  async #untilStored(write: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#options;
    for (;;) {
      try {
        return await write();
      } catch (error) {
        log.error({ error: messageOf(error) }, 'cannot store a result; trying again');
        if (this.#stopped) return;
        await new Promise<void>((resolve) => clock.after(STORE_RETRY_MS, resolve));
      }
    }
  }

  #scheduleRenewal(): void {
    let isCancelled = false;
    const cancel = this.#options.clock.after(this.#options.leaseMs / 3, async () => {
      await this.#renew();
      if (!isCancelled) this.#scheduleRenewal();
    });
    this.#cancelRenewal = () => {
      isCancelled = true;
      cancel();
    };
  }

  async #renew(): Promise<void> {
    if (this.#running.size === 0) return;
    const { store, leaseMs, clock, log } = this.#options;
    const before = [...this.#running];
    const askedAt = clock.now();
    try {
      const held = new Set(await store.renew(this.#owner, leaseMs));
      this.#takeover.reached(askedAt);
      for (const [id, { claim, abort }] of before) {
        if (held.has(id) || !this.#running.has(id)) continue;
        giveUp(claim, abort, new DOMException('lease lost', 'AbortError'));
      }
    } catch (error) {
      log.error({ error: messageOf(error) }, 'cannot renew leases; trying again');
    }
  }
}

function report(log: Logger, { id, kind, attempts, resource }: Claim, run: Run, status: string): void {
  const line = { event: id, kind, resource, attempt: attempts, status };
  if (run.type === 'handled') log.debug(line, 'event handled');
  else if (run.type === 'skip' || run.type === 'retry')
    log.info({ ...line, reason: run.reason }, `event ${status}`);
  else log.error({ ...line, reason: run.reason }, status === 'dead' ? 'event given up' : 'handler failed');
}
