import { getPriority, setPriority } from 'node:os';

/** By how much a thread that gives way is nicer than its process; 19 is the maximum. */
const NICER_BY = 10;

/** Lets all other threads go before this one. Only on Linux does a thread have a priority of its own. */
export function giveWay(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.min(getPriority() + NICER_BY, 19));
  } catch (error) {
    // A sandbox may forbid it, such as systemd's filter of system calls. The thread then competes with the others, and still works.
    if (!isForbidden(error)) throw error;
  }
}

/** Whether the operating system refused a call, by the error of Node. */
function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR';
}
