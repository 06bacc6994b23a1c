import { say } from './print.ts';

/** Does something that must not be left half-done: Ctrl-C and SIGTERM have to wait until it has ended. */
export async function uninterrupted<T>(work: () => Promise<T>): Promise<T> {
  const hold = () => say('this must not be left half-done: ending in a moment');
  process.on('SIGINT', hold).on('SIGTERM', hold);
  try {
    return await work();
  } finally {
    process.off('SIGINT', hold).off('SIGTERM', hold);
  }
}
