import type { Clock } from '../base/clock.ts';

/** A shorter stall does not count, however short leases are. */
const STALL_MS = 1000;

/**
 * Whether a dispatcher may take over leases of others that ran out. If it could not reach the store itself for a while (the
 * clock went forward, the machine slept, another program held the database), leases of live processes have run out as well.
 * Those processes first get the length of a lease to renew them, so that no event runs twice at once.
 */
export class Takeover {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #lastReached: number;
  #isHeldBack = false;
  #cancel = () => {};

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#lastReached = clock.now();
  }

  isAllowed(): boolean {
    const away = this.#clock.now() - this.#lastReached;
    if (away > Math.max(this.#leaseMs / 2, STALL_MS)) this.#holdBack();
    return !this.#isHeldBack;
  }

  /**
   * To be called whenever the store has answered.
   * @param askedAt when it was asked, as the clock may have been put forward since; milliseconds since the epoch
   */
  reached(askedAt: number): void {
    this.#lastReached = askedAt;
  }

  stop(): void {
    this.#cancel();
  }

  #holdBack(): void {
    this.#isHeldBack = true;
    this.#cancel();
    // A timer, as the time of day may go back.
    this.#cancel = this.#clock.after(this.#leaseMs, () => {
      this.#isHeldBack = false;
    });
  }
}
