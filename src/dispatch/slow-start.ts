import type { Clock } from '../base/clock.ts';

/** What of a start takes longer may wait for something that never comes. */
const SLOW_MS = 10_000;

/** Does work, and tells once if that takes long: a start ten seconds, unless another time is given in milliseconds. */
export async function tellingIfSlow<T>(
  clock: Pick<Clock, 'after'>,
  tell: () => void,
  work: () => Promise<T>,
  slowMs = SLOW_MS,
): Promise<T> {
  const cancel = clock.after(slowMs, tell);
  try {
    return await work();
  } finally {
    cancel();
  }
}
