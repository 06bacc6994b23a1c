import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { pauseUntilAborted, repeat, within } from '../base/clock.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { boundedLog } from '../base/log.ts';
import { textOf } from '../base/thrown.ts';
import { slotOf } from '../notification/kinds.ts';
import type { Parts } from '../observer.ts';
import type { AttemptOutcome, Claim, DeadEvent, EventStore, Of, Settlement } from '../store/event-store.ts';
import { lineOf, ofSubscriber } from '../store/stored.ts';
import { limitsOf, schedulesOf } from './handler.ts';
import { keepingLines } from './kept-lines.ts';
import { type Ending, endingOf, RELEASE, type RetryPolicy, type Run } from './outcome.ts';
import { atWorkOn } from './process-guard.ts';
import { giveUp, type RunningApp, runHandler, type Start } from './run-handler.ts';

export interface DispatcherOptions extends Parts, RetryPolicy {
  readonly app: RunningApp;
}

/** How long new events gather before a claim, so that claims leave the database to acks in between. */
export const GATHER_MS = 20;
/** The share of the newest lanes in claims that cannot take all; the rest goes to those that have waited longest. */
const NEWEST = 1 / 4;
/** The pause between two polls, which doubles while nothing comes. */
const OFTEN_MS = 500;
const SELDOM_MS = 2000;
/** How often the store looks for ready events without a lane. There should be none. */
const SWEEP_MS = 30_000;
/** The pause before a result that the store did not take is stored again. */
const STORE_RETRY_MS = 1000;
const NO_ANSWER = 'the store does not answer; trying again';
const LOST = 'the lease was lost while the handler ran; another process has the event';
const IGNORES_SIGNAL =
  'the handler ignores ctx.signal and still runs; its event runs again once its lease has run out';
const UNSTORED = 'results that could not be stored (the log names each event, which runs again)';
const NOT_STORED = 'cannot store a result before the stop; the event runs again once its lease has run out';
/** At a stop, after the abort of their signals: how long handlers have to end, and their results to be stored. */
const LAST_MS = 1500;

/** How long an event without a handler here is given back for other instances, from the first time on. */
const ELSEWHERE_MOST_MS = 600_000;
/** How long the answer which instances there are is kept: where subscribers alone have handlers, each event without a name asks. */
const KNOWN_MS = 1000;

/** How old a lease may become before it is renewed. */
const renewalMs = (leaseMs: number) => leaseMs / 3;

/** The ends of attempts whose log is of no further use. */
const USUAL: readonly AttemptOutcome[] = ['handled', 'skipped', 'interrupted', 'elsewhere'];

/** An event that is leased, from its claim until its result is stored. */
interface Leased extends Start {
  readonly claim: Claim;
  /** when this process asked for the lease or last renewed it, by the monotonic clock: the lease lasts for LEASE_MS from then at least */
  leasedAt: number;
}

/** Claims events and runs their handlers until each has succeeded or is dead. It is started once. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** whose events it runs */
  readonly #of: Of;
  readonly #leased = new Set<Leased>();
  /** leased events whose handlers run */
  readonly #atWork = new Set<Leased>();
  /** what a stop waits for: claims, events until their results are stored or never will be, calls of `onDead` */
  readonly #underWay = new Set<Promise<unknown>>();
  /** places for handlers: of all kinds, and of those of each limit */
  readonly #places: Places;
  readonly #limits;
  #cancelPoll = () => {};
  #pollMs = OFTEN_MS;
  /** when the next poll and sweep are due, and until when no lease of another process is recovered; by the monotonic clock */
  #pollAt = Number.NEGATIVE_INFINITY;
  #sweepAt = 0;
  #sparedUntil = 0;
  #isClaiming = false;
  /** whether events may be ready whose lanes are free */
  #isClaimWanted = false;
  /** the instances, as asked KNOWN_MS ago at most */
  #instances: ReturnType<EventStore['reports']['instances']> | undefined;
  #isRenewing = false;
  #isStopped = true;
  /** aborted when a stop is over: from then on nothing is stored again after an error */
  readonly #over = new AbortController();
  readonly #tell: ReturnType<typeof boundedLog>;
  #cancelGathering: (() => void) | undefined;
  #endLeases = () => {};

  constructor(options: DispatcherOptions) {
    const { clock, config } = options;
    const log = options.log.child({ instance: config.INSTANCE_NAME });
    this.#options = { ...options, log };
    this.#of = { subscriber: options.app.subscriber ?? '' };
    this.#places = { most: config.DISPATCH_CONCURRENCY, taken: 0 };
    this.#limits = Object.values(limitsOf(options.app)).map((limit) => ({ ...limit, taken: 0 }));
    this.#tell = boundedLog(log, clock, 10_000); // the store is asked again and again
  }

  /** How many handlers run. */
  readonly running = () => this.#atWork.size;

  start(): void {
    this.#isStopped = false;
    this.#endLeases = repeat(this.#options.clock, 0, async () => this.#lookAtLeases());
    void this.#poll();
  }

  /** This process has just recorded an event. */
  came(): void {
    if (this.#isStopped) return;
    this.#pollOften();
    this.#cancelGathering ??= this.#options.clock.after(GATHER_MS, () => {
      this.#cancelGathering = undefined;
      if (this.#of.subscriber === '') this.#claimMore();
      else this.wake(); // its event is yet to be made
    });
  }

  /** Something may be due or ready: looks now, and not only at its next poll. */
  wake(): void {
    this.#pollIn(0);
  }

  /** Events may be ready. */
  #claimMore(): void {
    this.#isClaimWanted = true;
    this.#follow(this.#claimWhileWanted());
  }

  /**
   * At the start of this process, after a stall of it, or an outage of the store, other processes get one renewal interval before it
   * recovers their leases.
   */
  #spareOthers(): void {
    this.#sparedUntil = this.#options.clock.monotonic() + renewalMs(this.#options.config.LEASE_MS);
  }

  #pollOften(): void {
    this.#pollMs = OFTEN_MS;
    this.#pollIn(OFTEN_MS);
  }

  #pollIn(ms: number): void {
    const { clock } = this.#options;
    const at = clock.monotonic() + ms;
    if (this.#isStopped || at >= this.#pollAt) return; // an earlier one is due, as of an event that came during a poll
    this.#cancelPoll();
    this.#pollAt = at;
    this.#cancelPoll = clock.after(ms, () => void this.#poll());
  }

  /** Looks for waiting events that are due, events of other processes, and leases that ran out. */
  async #poll(): Promise<void> {
    const { store, clock, config, app } = this.#options;
    const now = clock.monotonic();
    if (now - this.#pollAt > renewalMs(config.LEASE_MS)) this.#spareOthers(); // as after SIGSTOP, and at the start
    this.#pollAt = Number.POSITIVE_INFINITY; // none is due but what is asked for from here on
    this.#pollMs = Math.min(2 * this.#pollMs, SELDOM_MS);
    const found: unknown[] = [];
    let isBehind = 0;
    try {
      const work = await store.queue.work(this.#of); // mostly none, and then this is all that a poll costs
      isBehind = work.isBehind;
      if (work.isBehind + work.isDue > 0) found.push(...(await store.queue.wake(this.#of)));
      if (work.isReminder)
        found.push(...(await store.queue.comeDue({ ...this.#of, schedules: schedulesOf(app) })));
      if (work.isLost && now >= this.#sparedUntil && !this.#isStopped) {
        const held = [...this.#leased].map(({ claim }) => claim.lease);
        const maxAttempts = config.RETRY_MAX_ATTEMPTS;
        const { ready, dead } = await store.queue.recover({ ...this.#of, held, maxAttempts });
        found.push(...ready);
        for (const event of dead) this.#tellDead(event);
      }
      if (work.isReady || found.length > 0) this.#claimMore();
      if (now >= this.#sweepAt && !this.#isStopped) {
        if ((await store.queue.sweep(this.#of)) > 0) this.#claimMore();
        this.#sweepAt = now + SWEEP_MS;
      }
    } catch (error) {
      this.#storeFailed('look for events', error);
    }
    if (found.length > 0) this.#pollMs = OFTEN_MS;
    // A poll wakes 500 events and recovers 500 leases at most. Where another process makes the events, it may have looked too early.
    this.#pollIn(found.length > 0 ? 0 : isBehind ? GATHER_MS : this.#pollMs);
  }

  /**
   * Renews leases of events whose handlers run, or whose results wait to be stored. It aborts a handler whose lease is about to run out:
   * from then on another process may run its event.
   * @returns after how long it must look again
   */
  #lookAtLeases(): number {
    const { clock, config } = this.#options;
    const leaseMs = config.LEASE_MS;
    const lookMs = renewalMs(leaseMs) / 10;
    const now = clock.monotonic();
    const before = now - leaseMs + 2 * lookMs; // a look may come late: the event loop is busy at times
    for (const leased of this.#leased)
      if (leased.leasedAt <= before) giveUp(leased, 'the lease was not renewed in time');
    const due = [...this.#leased].filter(({ leasedAt }) => leasedAt <= now - renewalMs(leaseMs));
    if (due.length > 0 && !this.#isRenewing) void this.#renew(due, now);
    return lookMs;
  }

  async #renew(due: readonly Leased[], askedAt: number): Promise<void> {
    const { store, config } = this.#options;
    this.#isRenewing = true;
    try {
      const list = due.map(({ claim: { lease, resource, seq } }) => ({ lease, resource, seq }));
      const held = new Set(await store.queue.renew({ ...this.#of, list, leaseMs: config.LEASE_MS }));
      for (const leased of due) {
        if (held.has(leased.claim.lease)) leased.leasedAt = askedAt;
        else if (this.#leased.has(leased)) giveUp(leased, 'the lease is lost');
      }
    } catch (error) {
      this.#storeFailed('renew leases', error); // the next look renews them again
    }
    this.#isRenewing = false;
  }

  /** Claims while events may be ready and places for handlers are free: as many as that, so that none is leased ahead. */
  async #claimWhileWanted(): Promise<void> {
    const { store, clock, config } = this.#options;
    const { INSTANCE_NAME: owner, LEASE_MS: leaseMs } = config;
    if (this.#isClaiming) return;
    this.#isClaiming = true;
    while (this.#isClaimWanted) {
      await setImmediate(); // one claim for all handlers that end in this turn of the event loop
      const { room, newest } = this.#free(this.#places);
      if (this.#isStopped || room <= 0) break;
      this.#isClaimWanted = false;
      const leasedAt = clock.monotonic();
      try {
        const limits = this.#limits.map((limit) => ({ ...limit, ...this.#free(limit) }));
        const lanes = { oldest: room - newest, newest, limits };
        const { claims, hasMore } = await store.queue.claim({ ...this.#of, ...lanes, owner, leaseMs });
        this.#isClaimWanted ||= hasMore;
        for (const claim of claims) this.#take({ claim, leasedAt, abort: new AbortController() });
      } catch (error) {
        this.#storeFailed('claim events', error); // the next poll claims again
      }
    }
    this.#isClaiming = false;
  }

  /** How many places are free, and how many of those are for the newest lanes: of all places that are ever taken, a share. */
  #free(places: Places) {
    const running = [...this.#atWork].filter(({ claim }) => isOf(claim, places));
    const room = places.most - running.length;
    const newest = Math.floor((places.taken + room) * NEWEST) - Math.floor(places.taken * NEWEST);
    return { room, newest };
  }

  #take(leased: Leased): void {
    const released = { ...RELEASE, startedAt: this.#options.clock.now(), ms: 0 };
    for (const places of [this.#places, ...this.#limits]) if (isOf(leased.claim, places)) places.taken++;
    this.#leased.add(leased);
    const stored = this.#isStopped ? this.#store(leased.claim, released) : this.#handle(leased);
    this.#follow(stored.then(() => this.#leased.delete(leased)));
  }

  async #handle(leased: Leased): Promise<void> {
    const { claim, abort } = leased;
    const { clock, log, observer, isDev } = this.#options;
    const [startedAt, began] = [clock.now(), clock.monotonic()];
    const insist = <T>(ask: () => Promise<T>) => this.#insist('store a step of ctx.once', claim, ask);
    this.#atWork.add(leased);
    const lines = keepingLines(log, lineOf(claim));
    const ran = await runHandler(leased, { ...this.#options, log: lines.log, insist });
    const limit = this.#limits.find((one) => isOf(claim, one));
    this.#atWork.delete(leased);
    if (limit && this.#free(limit).room === 1) this.#isClaimWanted = true; // events over the limit may wait for this place
    this.#follow(this.#claimWhileWanted());

    const run = await this.#insist('look for a handler', claim, () => this.#lookElsewhere(ran, claim));
    if (!run) return;
    const isCutShort = this.#isStopped && abort.signal.aborted && run.type === 'error';
    const ending = isCutShort ? RELEASE : endingOf(run, claim, this.#options, clock.now());
    const ms = Math.max(0, Math.round(clock.monotonic() - began));
    report(log, claim, ending);
    const { status, outcome, error = '', counts } = ending;
    const kept = isDev || !USUAL.includes(outcome) ? lines.text() : undefined;
    const isStored = await this.#store(claim, { ...ending, startedAt, ms, log: kept });
    if (isStored && !isCutShort) observer?.ran({ ...this.#of, kind: slotOf(claim), outcome, status, ms });
    if (isStored && status === 'dead')
      this.#tellDead({ ...claim, error, attempts: claim.attempts + Number(counts) });
  }

  /** Where another living instance has the handler that is not here, the event is given back, for ten minutes at most. */
  async #lookElsewhere(run: Run, { id, kind, replays, subscriber }: Claim): Promise<Run> {
    if (run.type !== 'skip' || run.lacks === undefined) return run;
    const { store, clock, config } = this.#options;
    const own = config.INSTANCE_NAME;
    if (!this.#instances) clock.after(KNOWN_MS, () => (this.#instances = undefined));
    this.#instances ??= store.reports.instances();
    const others = (await this.#instances).filter((one) => one.name !== own && one.state === 'live');
    // A later version of the kit may know the kind by its name.
    const lacked = [run.lacks, kind].map((slot) => ofSubscriber(slot, subscriber));
    const other = others.find(({ kinds }) => lacked.some((slot) => kinds.includes(slot)));
    if (!other) return run;
    const attempts = await store.queue.attempts({ id });
    const before = attempts.findLastIndex((one) => one.outcome !== 'elsewhere' || one.replay !== replays);
    const since = attempts[before + 1]?.startedAt;
    if (since !== undefined && clock.now() - since >= ELSEWHERE_MOST_MS) return run;
    return { type: 'elsewhere', reason: `${own} has ${run.reason}, and ${other.name} has one` };
  }

  /** Calls the `onDead` of the app. Nothing waits for it but a stop. */
  #tellDead({ body, error, attempts, ...event }: DeadEvent): void {
    const { log, app } = this.#options;
    const tell = async () => app.onDead?.(JSON.parse(body), { id: event.id, error, attempts }, app.value);
    const onError = (cause: unknown) =>
      log.error({ ...lineOf(event), error: textOf(cause) }, 'onDead failed');
    this.#follow(atWorkOn(event, tell).catch(onError));
  }

  /** Stores a result. @returns whether the store has it */
  async #store(claim: Claim, settlement: Settlement): Promise<boolean> {
    const { store, log } = this.#options;
    const settled = await this.#insist('store a result', claim, () => store.queue.settle(claim, settlement));
    if (settled?.hasMore) this.#claimMore();
    if (settled && settlement.status === 'pending') this.#pollOften();
    if (settled?.isHeld === false) log.error(lineOf(claim), LOST);
    return settled?.isHeld === true;
  }

  /** Asks the store again and again until it answers; undefined if a stop is over before. */
  async #insist<T>(what: string, claim: Claim, ask: () => T | Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (this.#over.signal.aborted) return undefined; // the stop has logged it
        this.#storeFailed(what, error, claim);
        await pauseUntilAborted(this.#options.clock, STORE_RETRY_MS, this.#over.signal);
      }
    }
  }

  #storeFailed(cannot: string, error: unknown, claim?: Claim): void {
    this.#spareOthers();
    this.#tell('error', '', { ...(claim && lineOf(claim)), cannot, error: messageOf(error) }, NO_ANSWER);
  }

  /**
   * Stops claiming, and aborts the handlers that have not ended after so many milliseconds. The event of a handler that ends at
   * the abort is released. A handler that ignores the abort keeps its lease: if it were released, another process would
   * run the event beside it.
   * @throws KitError STORE_UNAVAILABLE, at the end, if results could not be stored
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, log } = this.#options;
    this.#isStopped = true;
    this.#cancelGathering?.();
    this.#cancelPoll();
    await within(clock, graceMs, this.#ended());
    for (const leased of this.#atWork) giveUp(leased, 'the service is stopping');
    await within(clock, LAST_MS, this.#ended());
    this.#endLeases();
    this.#over.abort();
    for (const { claim } of this.#atWork) log.warn(lineOf(claim), IGNORES_SIGNAL);
    const unstored = this.#leased.difference(this.#atWork);
    for (const { claim } of unstored) log.error(lineOf(claim), NOT_STORED);
    if (unstored.size > 0) throw new KitError('STORE_UNAVAILABLE', `${UNSTORED}: ${unstored.size}`);
  }

  /** Has a stop wait for work. */
  #follow(work: Promise<unknown>): void {
    const followed = work.finally(() => this.#underWay.delete(followed));
    this.#underWay.add(followed);
  }

  async #ended(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}

/** Places for handlers, and how many events have ever taken one. */
type Places = { readonly most: number; readonly kinds?: readonly string[]; taken: number };

/** Whether an event takes one of these places: those without kinds are for all. */
const isOf = (claim: Claim, { kinds }: Places) => kinds?.includes(slotOf(claim)) ?? true;

function report(log: Logger, claim: Claim, { status, outcome, error }: Ending): void {
  const line = { ...lineOf(claim), status, ...(error !== undefined && { reason: error }) };
  if (outcome === 'handled') log.debug(line, 'event handled');
  else if (outcome === 'interrupted') log.info(line, 'the stop interrupted a handler; its event runs again');
  else if (status === 'dead') log.error(line, 'event is dead');
  else if (['skipped', 'retry', 'elsewhere'].includes(outcome)) log.info(line, `event ${status}`);
  else log.error(line, 'handler failed');
}
