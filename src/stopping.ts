import closeWithGrace from 'close-with-grace';
import { messageOf } from './base/errors.ts';
import type { Log } from './base/log.ts';
import { type ProcessGuard, UNCAUGHT } from './dispatch/process-guard.ts';

export interface StopOptions {
  readonly output: Pick<Log, 'log' | 'flush'>;
  readonly guard: ProcessGuard;
  /** how long `stop` may take before the process ends all the same, in milliseconds */
  readonly delay: number;
  /** whether `node --watch` runs the process: it passes on each Ctrl-C, which the terminal has already sent to both */
  readonly isWatched?: boolean;
  /** ends all that runs */
  stop(): Promise<void>;
}

/**
 * At SIGTERM or Ctrl-C, ends all that runs, and then the process: with 0, or with 1 and a line in the log that says why if
 * something could not be ended, took too long, or a second signal came.
 */
export function stopInOrder({ output, guard, delay, isWatched = false, stop }: StopOptions): void {
  const { log } = output;
  const cutShort = (error: string) => {
    guard.expectExit();
    log.fatal({ error }, 'did not stop in order; all acknowledged notifications are on disk');
  };
  const options = {
    delay,
    logger: false,
    skip: isWatched ? [...UNCAUGHT, 'SIGINT' as const] : UNCAUGHT,
    onTimeout: () => cutShort(`stopping took longer than ${delay} ms`),
    onSecondSignal: (signal: string) => cutShort(`a second signal came: ${signal}`),
  } as const;
  const { close } = closeWithGrace(options, async ({ signal = 'SIGINT' }) => {
    log.info({ signal }, 'stopping');
    try {
      await stop();
    } catch (error) {
      cutShort(reasonsOf(error));
      throw error;
    }
    guard.expectExit();
    log.info('stopped');
    await output.flush();
  });
  if (!isWatched) return;
  let interrupts = 0;
  process.on('SIGINT', () => {
    interrupts++;
    if (interrupts === 1) close();
    if (interrupts <= 2) return;
    options.onSecondSignal('SIGINT');
    process.exit(1);
  });
}

/** What went wrong, the first first: where several parts could not be ended, each error hides the one before it. */
function reasonsOf(error: unknown): string {
  if (!(error instanceof SuppressedError)) return messageOf(error);
  return `${reasonsOf(error.suppressed)}; ${reasonsOf(error.error)}`;
}
