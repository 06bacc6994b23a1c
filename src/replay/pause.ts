import type { Clock } from '../base/clock.ts';

/** The longest interval that Node takes. */
const FOREVER = 2 ** 31 - 1;

/** Resolves after so many milliseconds of the clock, or at once when the signal is aborted. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  // The timers of a clock do not keep the process alive, but a replay that waits has to stay.
  const alive = setInterval(() => undefined, FOREVER);
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const cancel = clock.after(ms, wake);
  signal.addEventListener('abort', wake, { once: true });
  await promise;
  cancel();
  clearInterval(alive);
  signal.removeEventListener('abort', wake);
}
