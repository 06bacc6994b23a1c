import type { Clock, MonotonicClock } from '../../base/clock.ts';
import { repeat } from '../../base/repeat.ts';
import type { Session } from './session.ts';

/** The time by the clock of the server, milliseconds since the Unix epoch. */
export const TIME_THERE = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now';

/** How often the clock of the server is asked. */
const EVERY_MS = 10_000;

/** The time of the database server, in between by the time that has passed here: whatever the clock of this machine says. */
export class DatabaseClock implements Clock {
  readonly #clock: MonotonicClock;
  readonly #session: Session;
  #ahead = 0;
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
    return Math.round(this.#clock.monotonic() + this.#ahead);
  }

  after(ms: number, run: () => unknown): () => void {
    return this.#clock.after(ms, run);
  }

  async #ask(): Promise<void> {
    const asked = this.#clock.monotonic();
    const [row] = await this.#session.rows<{ now: number }>(TIME_THERE);
    const answered = this.#clock.monotonic();
    if (row) this.#ahead = row.now - (asked + answered) / 2;
  }

  stop(): void {
    this.#stop();
  }
}
