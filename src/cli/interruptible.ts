import { KitError } from '../base/errors.ts';

/**
 * Does something that may stop at any of its steps: Ctrl-C or SIGTERM aborts the signal, with an error that says what
 * to do; a second one ends the process at once.
 * @param advice what to do after an interruption
 */
export async function interruptible<T>(
  advice: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => {
    release();
    controller.abort(new KitError('INTERRUPTED', `interrupted: ${advice}`));
  };
  const release = () => process.off('SIGINT', abort).off('SIGTERM', abort);
  process.on('SIGINT', abort).on('SIGTERM', abort);
  try {
    return await work(controller.signal);
  } finally {
    release();
  }
}
