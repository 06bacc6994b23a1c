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

/** Has the process stay until work has ended, even if that waits for a timer of a clock alone: those do not keep it alive. */
export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const alive = setInterval(() => undefined, LONGEST_TIMER);
  return await work.finally(() => clearInterval(alive));
}

/** Resolves `ms` milliseconds from now. @throws the reason of `signal`, once that is aborted */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal?.reason);
  const cancel = clock.after(ms, resolve);
  signal?.addEventListener('abort', abort, { once: true });
  await keptAlive(promise).finally(() => {
    cancel();
    signal?.removeEventListener('abort', abort);
  });
}

/** The same, but an aborted signal only ends the pause. */
export async function pauseUntilAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await pause(clock, ms, signal).catch(() => undefined); // it throws for nothing else
}

/** The result of work, or undefined if that takes longer than `ms` milliseconds. The work goes on. The process stays meanwhile. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ms, () => resolve(undefined));
  return await keptAlive(Promise.race([work, over])).finally(cancel);
}

/** A signal that is aborted `ms` milliseconds from now with a TimeoutError, for requests over the real network. */
export const timeLimit = (ms: number) => AbortSignal.timeout(ms);

/**
 * Does rounds one after the other, for as long as nobody stops it.
 * @param firstMs how long it waits before the first one, milliseconds
 * @param round resolves with how long is waited before the next one, milliseconds; it must not reject
 * @returns a function that stops it; a round under way goes on to its end
 */
export function repeat(clock: Clock, firstMs: number, round: () => Promise<number>): () => void {
  let isStopped = false;
  let cancel = () => {};
  const schedule = (ms: number): void => {
    if (!isStopped) cancel = clock.after(ms, async () => schedule(await round()));
  };
  schedule(firstMs);
  return () => {
    isStopped = true;
    cancel();
  };
}
