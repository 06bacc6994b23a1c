import { systemClock, within } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import type { Log } from './base/log.ts';

/**
 * For so long after a signal to stop, another one is taken for the same, in milliseconds. A terminal sends Ctrl-C to all processes of a
 * command, and npm and `hookkit dev` then pass theirs on; so do supervisors that signal a whole group.
 */
export const SAME_SIGNAL_MS = 1000;
/** From terminals, supervisors, and programs that start a process again. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

export interface CloseOptions {
  /** how long `close` may take, in milliseconds */
  readonly delay: number;
  /** ends all that runs; the process then ends with 0, or with 1 if it throws */
  close(signal: NodeJS.Signals): Promise<void>;
  /** told why `close` failed or is not waited for any longer, just before the process ends with 1 */
  readonly onCutShort?: (why: string) => Promise<void>;
}

/**
 * At SIGTERM, Ctrl-C or the end of the terminal or of npm, closes, and then ends the process. Another signal ends it at once, unless it
 * comes within a second, as one that npm passes on does.
 */
export function closeAtSignal({ delay, close, onCutShort }: CloseOptions): void {
  let firstAt: number | undefined;
  const cutShort = async (error: unknown): Promise<void> => {
    await onCutShort?.(reasonsOf(error));
    process.exit(1);
  };
  const closeFirst = async (signal: NodeJS.Signals): Promise<void> => {
    const closed = close(signal).then(() => true);
    if (await within(systemClock, delay, closed)) process.exit(0);
    throw new Error(`stopping took longer than ${delay} ms`);
  };
  const take = (signal: NodeJS.Signals) => {
    const now = systemClock.monotonic();
    if (firstAt === undefined) {
      firstAt = now;
      closeFirst(signal).catch(cutShort);
    } else if (now - firstAt >= SAME_SIGNAL_MS) {
      cutShort(`a second signal came: ${signal}`);
    }
  };
  // They are never removed: at a moment without a listener, a signal would end the process.
  for (const signal of SIGNALS) process.on(signal, take);
  process.once('disconnect', () => firstAt ?? take('SIGTERM')); // the parent has ended, which is no second signal
}

export interface StopOptions extends Pick<CloseOptions, 'delay'> {
  readonly output: Pick<Log, 'log' | 'flush'>;
  /** as `guardProcess` gives it */
  expectExit(): void;
  /** ends all that runs */
  stop(): Promise<void>;
}

/**
 * At a signal to stop, ends all that runs, and then the process: with 0, or with 1 and a line in the log that says why if something
 * could not be ended, took too long, or a second signal came.
 */
export function stopInOrder({ output, expectExit, delay, stop }: StopOptions): void {
  const { log } = output;
  closeAtSignal({
    delay,
    async close(signal) {
      log.info({ signal }, 'stopping');
      await stop();
      expectExit();
      log.info('stopped');
      await output.flush();
    },
    async onCutShort(error) {
      expectExit();
      log.fatal({ error }, 'did not stop in order; all acknowledged notifications are on disk');
      await output.flush(); // else this line may overtake one that is being written
    },
  });
}

/** The errors of a stop, the first one first: where several parts could not be ended, each error hides the one before it. */
function reasonsOf(error: unknown): string {
  if (!(error instanceof SuppressedError)) return messageOf(error);
  return `${reasonsOf(error.suppressed)}; ${reasonsOf(error.error)}`;
}
