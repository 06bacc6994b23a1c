import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { SAME_SIGNAL_MS } from '../stopping.ts';

/**
 * Does work that may stop after any of its steps. Ctrl-C or SIGTERM aborts the signal, with an error that says what to do
 * next. Another one, a second or more later, ends the process at once.
 * @param advice what to do after an interruption
 */
export async function interruptible<T>(advice: string, work: (signal: AbortSignal) => Promise<T>) {
  const controller = new AbortController();
  const release = onInterrupt(() => {
    if (controller.signal.aborted) return;
    systemClock.after(SAME_SIGNAL_MS, release);
    controller.abort(new KitError('INTERRUPTED', `interrupted: ${advice}`));
  });
  try {
    return await work(controller.signal);
  } finally {
    // The same signal may come once more while the command ends.
    if (!controller.signal.aborted) release();
  }
}

/** Takes Ctrl-C and SIGTERM, which then do not end the process. @returns ends that */
export function onInterrupt(listener: () => void): () => void {
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return () => void process.off('SIGINT', listener).off('SIGTERM', listener);
}
