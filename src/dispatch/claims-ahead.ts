import type { Clock } from '../base/clock.ts';
import type { EventId } from '../store/event-id.ts';
import type { Claim, StoreRuns } from '../store/event-store.ts';

/** A handler that takes longer is not quick: events that wait behind it would wait for long. */
const QUICK_MS = 50;
/** How many times as many events as there are handlers wait here at most, and how many in all: a claim must not take long. */
const MOST_AHEAD = 4;
const MOST_IN_ALL = 1024;
/** Where very many come, so many of them do: handlers keep a third of what is written, however hard acks press. */
const OF_WHAT_CAME = 1 / 2;
/** The same in a backlog. A claim costs a server, and the way there, little more if it has many events; on a thread an ack may come and wait for it. */
const MOST_IN_BACKLOG = { 'on a server': 1024, 'on a thread': 512, here: 512 } as const satisfies Record<
  StoreRuns,
  number
>;
/** From a server events are claimed as in a backlog as long as at most one comes for so many that are handled. */
const HANDLED_FOR_ONE = 8;
/** From a thread, if none has come for so long: while it works on a large claim, acks wait. */
const QUIET_MS = 1000;
/** A claim that takes so many new events, at least, costs the store little for each. */
const MANY_CAME = 4;
/** How long the bodies of what waits here may be in all, in characters. */
const MOST_CHARACTERS = 16 * 1024 * 1024;
/** Of about so many claims the mean length is taken. */
const LENGTHS = 16;
/** How long an event waits here; then it goes back, so that another process can take it. */
const PATIENCE_MS = 1000;

interface AheadOptions {
  /** handlers at once */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly storeRuns: StoreRuns;
}

interface Waiting {
  readonly claim: Claim;
  /** when it came here, milliseconds since the epoch */
  readonly since: number;
  /** from when on its lease runs: when it was asked for, or renewed */
  leasedAt: number;
}

/**
 * Claimed events that wait for a handler to be free. A claim is a round trip to the store, and quick handlers end before the
 * next one is back: as many events are claimed ahead as handlers ended since the last claim. To be told of each event that comes.
 *
 * In a backlog, the next claim is made while half of the last one still waits here: a server or a thread works on it while
 * handlers run, where each waited for the other before. For that, twice as many events are claimed ahead as ended meanwhile.
 */
export class ClaimsAhead {
  readonly #clock: Clock;
  readonly #options: AheadOptions;
  #waiting: Waiting[] = [];
  #endedQuickly = 0;
  /** how long these took together, milliseconds */
  #tookMs = 0;
  #came = 0;
  /** when the last event was recorded */
  #cameAt = Number.NEGATIVE_INFINITY;
  /** how many events the last claim got; 0 if it was not all that it asked for */
  #last = 0;
  /** when the last claim was made */
  #askedAt: number;
  /** the mean length of the bodies that were claimed last */
  #length = 0;

  constructor(clock: Clock, options: AheadOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#askedAt = clock.now();
  }

  get size(): number {
    return this.#waiting.length;
  }

  get places(): readonly number[] {
    return this.#waiting.map(({ claim }) => claim.place);
  }

  /** A handler ended. @param ms how long it took */
  ended(ms: number): void {
    if (ms >= QUICK_MS) return;
    this.#endedQuickly++;
    this.#tookMs += ms;
  }

  /** A new event was recorded. */
  came(): void {
    this.#came++;
    this.#cameAt = this.#clock.now();
  }

  /** Whether so many new events were recorded since the last claim that the next need not wait for more of them. */
  get manyCame(): boolean {
    return this.#came >= MANY_CAME;
  }

  /** Whether the next claim should be made although events wait here: more are ready, and these may not last until it is back. */
  get isLow(): boolean {
    return this.#isBacklog && this.#endedQuickly > 0 && this.#waiting.length < this.#last;
  }

  /** Whether events are claimed for what was recorded before rather than for what comes, and beside this thread. */
  get #isBacklog(): boolean {
    const { storeRuns } = this.#options;
    if (storeRuns === 'on a server') return this.#came * HANDLED_FOR_ONE <= this.#endedQuickly;
    return storeRuns === 'on a thread' && Math.abs(this.#clock.now() - this.#cameAt) > QUIET_MS;
  }

  /** How many events a claim that is made now takes beyond those for free handlers. */
  get reach(): number {
    const { concurrency } = this.#options;
    const ended = this.#endedQuickly;
    const fitting = Math.floor(MOST_CHARACTERS / Math.max(1, this.#length));
    if (!this.#isBacklog) {
      const most = Math.max(concurrency * MOST_AHEAD, Math.ceil(this.#came * OF_WHAT_CAME));
      // What all handlers do in half of that time, by how long they took: acks that press make the time between claims long.
      const capacity = (ended * concurrency * PATIENCE_MS) / 2 / Math.max(1, this.#tookMs);
      const wanted = this.#came > ended ? Math.min(2 * ended, Math.max(ended, capacity)) : ended;
      return Math.floor(Math.min(wanted, most, MOST_IN_ALL, fitting));
    }
    const isQuick = this.#last > 0 && 2 * ended >= this.#last;
    const inTime = (ended * PATIENCE_MS) / 2 / Math.max(1, this.#clock.now() - this.#askedAt);
    const wanted = isQuick ? 2 * Math.max(ended, this.#last) : ended;
    return Math.floor(Math.min(wanted, inTime, MOST_IN_BACKLOG[this.#options.storeRuns], fitting));
  }

  /** A claim is made now. */
  asked(): void {
    this.#endedQuickly = 0;
    this.#tookMs = 0;
    this.#came = 0;
    this.#askedAt = this.#clock.now();
  }

  /** A claim got so many events. */
  got(events: number, isAll: boolean): void {
    this.#last = isAll ? events : 0;
  }

  /** @param askedAt when it was claimed at the latest, milliseconds since the epoch */
  add(claim: Claim, askedAt: number): void {
    this.#length += (claim.body.length - this.#length) / LENGTHS;
    this.#waiting.push({ claim, since: this.#clock.now(), leasedAt: askedAt });
  }

  /** Takes out the event that has waited longest, with how long that was, and how long its lease has run. */
  next(): { readonly claim: Claim; readonly waitedMs: number; readonly leasedForMs: number } | undefined {
    const first = this.#waiting.shift();
    if (!first) return undefined;
    const msSince = (time: number) => Math.max(0, this.#clock.now() - time);
    return { claim: first.claim, waitedMs: msSince(first.since), leasedForMs: msSince(first.leasedAt) };
  }

  /** Takes out what has waited for so long that another process should have it. */
  overdue(): Claim[] {
    const before = this.#clock.now() - PATIENCE_MS;
    return this.#takeOut(({ since }) => since <= before);
  }

  /**
   * Takes out what may be another process's by now, or will be soon: half of its lease has passed, as when this process was
   * stopped for a while. To be asked before anything is started.
   */
  expired(): Claim[] {
    const before = this.#clock.now() - this.#options.leaseMs / 2;
    // What is started next is first here, so the others need no look: this is asked for each handler that ends.
    const first = this.#waiting.findIndex(({ leasedAt }) => leasedAt > before);
    if (first === 0) return [];
    return this.#waiting.splice(0, first < 0 ? this.#waiting.length : first).map(({ claim }) => claim);
  }

  /** Leases were renewed. Takes out what the owner no longer holds of what was claimed before: others have it. */
  renewed(held: ReadonlySet<EventId>, askedAt: number): void {
    this.#takeOut(({ claim, since }) => since < askedAt && !held.has(claim.id));
    for (const one of this.#waiting) if (held.has(one.claim.id)) one.leasedAt = askedAt;
  }

  /** Takes out all. */
  clear(): Claim[] {
    return this.#takeOut(() => true);
  }

  #takeOut(isMeant: (one: Waiting) => boolean): Claim[] {
    const out = this.#waiting.filter(isMeant);
    if (out.length > 0) this.#waiting = this.#waiting.filter((one) => !out.includes(one));
    return out.map(({ claim }) => claim);
  }
}
