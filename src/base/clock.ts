/** The source of time. Every part that waits or stamps takes a clock, so that tests and the mock can replace it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Calls `fn` once, `ms` milliseconds from now; the function returned cancels it. */
  after(ms: number, fn: () => unknown): () => void;
}

/** A clock that measures durations, too. */
export interface MonotonicClock extends Clock {
  /** Milliseconds since some moment in the past; a change of the time of day does not change it. */
  monotonic(): number;
}

/** Node refuses longer timers (it would fire them at once). */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The machine's clock. Its timers do not keep the process alive. */
export const systemClock: MonotonicClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(ms, LONGEST_TIMER)).unref();
    return () => clearTimeout(timer);
  },
};
