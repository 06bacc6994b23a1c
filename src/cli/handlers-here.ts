import type { Logger } from 'pino';
import { guardProcess } from '../dispatch/process-guard.ts';
import { endProcessSoon, ownsProcess } from './terminal.ts';

/** How long timers and promises that handlers left behind may still tell of their errors. */
const LEFT_BEHIND_MS = 1000;

/**
 * Guards a command that runs handlers in its own process, and ends the process soon after the command: timers and connections that
 * handlers leave behind would keep it for ever.
 */
export function handlersHere(log: Logger): Disposable {
  const guard = ownsProcess() ? guardProcess(log) : undefined;
  return {
    [Symbol.dispose]() {
      endProcessSoon(LEFT_BEHIND_MS, () => guard?.expectExit());
    },
  };
}
