import type { Clock } from './clock.ts';

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
