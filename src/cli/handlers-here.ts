import type { Logger } from 'pino';
import { guardProcess } from '../dispatch/process-guard.ts';
import { endProcess, ownsProcess } from './terminal.ts';

/**
 * Guards a command that runs handlers in its own process, and ends the process with the command: timers and connections that
 * handlers leave behind would keep it for ever.
 */
export function handlersHere(log: Logger): Disposable {
  const guard = ownsProcess() ? guardProcess(log) : undefined;
  return {
    [Symbol.dispose]() {
      guard?.expectExit();
      endProcess();
    },
  };
}
