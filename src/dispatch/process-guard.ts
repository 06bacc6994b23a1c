import type { Logger } from 'pino';
import { isFromUsersFiles, textOf } from '../base/thrown.ts';
import { atWork } from './at-work.ts';

/** Watches over a process that runs handlers. */
export interface ProcessGuard {
  /** From now on the process may be ended. */
  expectExit(): void;
}

/** For closeWithGrace, which would take errors for a reason to stop in order; where nothing was thrown, even with 0. */
export const UNCAUGHT: NodeJS.UncaughtExceptionOrigin[] = ['uncaughtException', 'unhandledRejection'];

/**
 * Takes uncaught errors, for as long as the process lives. An error that a handler left behind (in a timer, or a promise
 * without await) is logged with its event, and the process goes on: other events have nothing to do with it. Any other error
 * is ours and ends the process with 1. No lease is released then: running events keep their leases and the attempts that
 * they used, or an event that crashes its process would do so without end.
 *
 * A handler that calls process.exit() would end everything without a word, and with 0 nothing would start it again: that
 * is logged, and ends with 1.
 */
export function guardProcess(log: Pick<Logger, 'error' | 'fatal'>): ProcessGuard {
  let isExpected = false;
  const expectExit = () => {
    isExpected = true;
  };
  const take = (thrown: unknown) => {
    const owner = ownerOf(thrown);
    const error = textOf(thrown);
    if (owner) return log.error({ ...owner, error }, 'a handler left an error behind');
    log.fatal({ error }, 'crashed; what was acknowledged is on disk');
    expectExit();
    process.exit(1);
  };
  for (const event of UNCAUGHT) process.on(event, take);
  process.once('beforeExit', expectExit); // which process.exit() does not bring about
  process.on('exit', (code) => {
    if (isExpected) return;
    log.fatal({ ...ownerOf(undefined), code }, 'process.exit() was called; what was acknowledged is on disk');
    process.exitCode = code === 0 ? 1 : code;
  });
  return { expectExit };
}

/** The event whose handler it comes from, as a log line has it; undefined where it comes from no handler. */
function ownerOf(thrown: unknown): object | undefined {
  const owner = atWork();
  if (owner === undefined) return isFromUsersFiles(thrown) ? {} : undefined;
  if (owner === 'a handler file') return {};
  const { id, kind, resource, attempts } = owner;
  return { event: id, kind, resource, attempt: attempts };
}
