import type { Logger } from 'pino';
import { guardProcess } from '../dispatch/process-guard.ts';
import { endProcess, endProcessSoon, ownsProcess } from './terminal.ts';

/** How long timers and promises that handlers left behind may still tell of their errors. */
const LEFT_BEHIND_MS = 1000;

/** What a command does at its end that runs handlers in its own process. */
export interface HandlersHere extends Disposable {
  /** Ends the process with the command, whatever still runs in it. */
  endNow(): void;
}

/**
 * Guards a command that runs handlers in its own process, and ends the process soon after the command: timers and connections that
 * handlers leave behind would keep it for ever.
 */
export function handlersHere(log: Logger): HandlersHere {
  const guard = ownsProcess() ? guardProcess(log) : undefined;
  return {
    endNow() {
      guard?.expectExit();
      endProcess();
    },
    [Symbol.dispose]() {
      endProcessSoon(LEFT_BEHIND_MS, () => guard?.expectExit());
    },
  };
}
