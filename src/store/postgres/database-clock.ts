import type { Clock, MonotonicClock } from '../../base/clock.ts';
import { repeat } from '../../base/repeat.ts';
import type { Session } from './session.ts';

/** The time by the clock of the server, milliseconds since the Unix epoch. */
export const TIME_OF_SERVER = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
export const TIME_THERE = `SELECT ${TIME_OF_SERVER} AS now`;

/** How often the clock of the server is asked. */
const EVERY_MS = 10_000;
/** By so much the two clocks of this machine may run apart before the server is asked at once: it slept, or one of them was set. */
const APART_MS = 1000;
/** An answer that took longer says too little about the time between. */
const SLOW_MS = 1000;

/**
 * The time of the database server, in between by the time that has passed here: whatever the clock of this machine says. The clock of
 * what has passed stands still while the machine sleeps, and an answer of the server may be late. So whoever gives or takes a lease by this
 * time also looks at what the server says in the same transaction; see `WriteLink`.
 */
export class DatabaseClock implements Clock {
  readonly #clock: MonotonicClock;
  readonly #session: Session;
  #ahead = 0;
  /** the difference of the clocks of this machine when the server was asked */
  #apart = 0;
  #isAsking = false;
  #stop = () => {};

  private constructor(clock: MonotonicClock, session: Session) {
    this.#clock = clock;
    this.#session = session;
  }

  static async of(clock: MonotonicClock, session: Session): Promise<DatabaseClock> {
    const one = new DatabaseClock(clock, session);
    await one.#ask();
    one.#stop = repeat(clock, EVERY_MS, async () => {
      await one.#ask().catch(() => undefined); // as before, until the server answers again
      return EVERY_MS;
    });
    return one;
  }

  now(): number {
    const apart = this.#clock.now() - this.#clock.monotonic();
    if (Math.abs(apart - this.#apart) > APART_MS && !this.#isAsking) void this.#ask().catch(() => undefined);
    return Math.round(this.#clock.monotonic() + this.#ahead);
  }

  after(ms: number, run: () => unknown): () => void {
    return this.#clock.after(ms, run);
  }

  /** @param there what the server has just said */
  correct(there: number): void {
    this.#ahead = there - this.#clock.monotonic();
    this.#apart = this.#clock.now() - this.#clock.monotonic();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      const asked = this.#clock.monotonic();
      const [row] = await this.#session.rows<{ now: number }>(TIME_THERE);
      const took = this.#clock.monotonic() - asked;
      // Of a slow answer nobody knows how old it is: rather behind than ahead.
      if (row) this.correct(row.now + (took <= SLOW_MS ? took / 2 : 0));
    } finally {
      this.#isAsking = false;
    }
  }

  stop(): void {
    this.#stop();
  }
}
