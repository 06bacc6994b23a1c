import { setTimeout as sleep } from 'node:timers/promises';

/** Node refuses longer timers (it would fire them at once). */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after so many milliseconds, or at once when the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, LONGEST_MS), undefined, signal ? { signal } : {}).catch(() => {}); // woken early
}
