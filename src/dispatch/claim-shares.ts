import type { Clock } from '../base/clock.ts';
import type { Claim } from '../store/event-store.ts';

/** Claims have shares by turns of four: one of the newest, one of a replay, and two of what was received first. */
const TURNS = 4;
/** Where what is claimed was received longer ago, new events are not to wait for their turn behind it. */
const BACKLOG_MS = 1000;
/** What has waited for longer than once to twice this is not new any more. */
const NEW_MS = 2500;

/** As a request to claim has them. */
interface Shares {
  readonly newest: number;
  readonly replayed: number;
}

/**
 * How claims are divided between what was received first, what was received last, and replays: a live event passes any backlog, a backlog
 * keeps a part of its speed, and replays go on however much is live. Where a backlog is older than a second, as many as have come go
 * to the newest: up to half of all, or three of four while nothing is replayed. To be told of each event that comes.
 */
export class ClaimShares {
  readonly #clock: Clock;
  /** how many events were claimed so far */
  #claimed = 0;
  /** how many have come that were not asked for among the newest: lately, and before that */
  #new = 0;
  #lessNew = 0;
  #turnedAt: number;
  /** how many of them the claim that is under way leaves, if it gets all that it asks for */
  #left = 0;
  /** whether the last claim left events that were received over a second before */
  #isBehind = false;
  /** whether a replay had its turn when it was last asked for one */
  #isReplaying = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turnedAt = clock.now();
  }

  /** A new event was recorded. */
  came(): void {
    this.#new++;
  }

  /** A claim is made now. @returns how many of so many events are to be the newest, and how many replays */
  asked(limit: number): Shares {
    this.#age();
    const turn = (number: number) => {
      const from = this.#claimed + number;
      return Math.floor((from + limit) / TURNS) - Math.floor(from / TURNS);
    };
    const replayed = turn(2);
    const others = turn(1) + (this.#isReplaying ? 0 : replayed);
    const wanted = this.#isBehind ? this.#new + this.#lessNew - turn(0) : 0;
    const newest = turn(0) + Math.max(0, Math.min(others, wanted));
    this.#forget(newest);
    this.#left = this.#new + this.#lessNew;
    return { newest, replayed };
  }

  /**
   * What a claim got that had these shares.
   * @param isAll whether it got as many as it asked for
   */
  got(claims: readonly Claim[], { replayed }: Shares, isAll: boolean): void {
    this.#claimed += claims.length;
    if (replayed > 0) this.#isReplaying = claims.some(({ replays }) => replays > 0);
    this.#isBehind =
      isAll &&
      claims.some(
        ({ replays, startedAt, receivedAt }) => replays === 0 && startedAt - receivedAt > BACKLOG_MS,
      );
    if (!isAll) this.#forget(this.#left);
  }

  /** So many were claimed. */
  #forget(events: number): void {
    const ofNew = Math.min(this.#new, events);
    this.#new -= ofNew;
    this.#lessNew = Math.max(0, this.#lessNew - (events - ofNew));
  }

  #age(): void {
    const now = this.#clock.now();
    const turns = Math.abs(now - this.#turnedAt) / NEW_MS; // the clock may be set back
    if (turns < 1) return;
    this.#lessNew = turns < 2 ? this.#new : 0;
    this.#new = 0;
    this.#turnedAt = now;
  }
}
