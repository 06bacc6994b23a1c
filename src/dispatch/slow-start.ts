import type { Clock } from '../base/clock.ts';

/** What of a start takes longer may wait for something that never comes. */
const SLOW_MS = 10_000;

/** Does work of a start, and tells once if that takes long. */
export async function tellingIfSlow<T>(
  clock: Pick<Clock, 'after'>,
  tell: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const cancel = clock.after(SLOW_MS, tell);
  try {
    return await work();
  } finally {
    cancel();
  }
}
