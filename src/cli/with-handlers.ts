import { type Logger, pino } from 'pino';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { logFormat } from '../base/log.ts';
import type { Config } from '../config.ts';
import { loadApp } from '../dispatch/load-handlers.ts';
import { openApp } from '../dispatch/open-app.ts';
import { guardProcess } from '../dispatch/process-guard.ts';
import type { RunningApp } from '../dispatch/run-handler.ts';
import { appsOf } from '../dispatch/subscribers.ts';
import type { Queue } from '../store/event-store.ts';
import { say } from './output.ts';

/** How long timers and promises that handlers left behind may still tell of their errors. */
const LEFT_BEHIND_MS = 1000;

/**
 * Loads the handlers and opens their app, and closes it after the work. The process ends soon afterwards.
 * @param store of which the app reads states
 * @param work gets a log that goes to stderr, as stdout is for data
 */
export async function withHandlers<T>(
  config: Config,
  store: { readonly queue: Pick<Queue, 'state' | 'states'> },
  work: (here: { readonly app: RunningApp; readonly log: Logger }) => Promise<T>,
): Promise<T> {
  const log = pino({ level: config.LOG_LEVEL, ...logFormat }, process.stderr);
  const expectExit = guardProcess(log);
  try {
    const app = await openApp(await loadApp(config, say), { config, log, store });
    return await work({ app, log }).finally(() => app.close());
  } finally {
    // Timers and connections that handlers leave behind would keep the process for ever.
    systemClock.after(LEFT_BEHIND_MS, () => {
      expectExit();
      process.exit();
    });
  }
}

/** An action that loads the files of handlers: the process ends with it, whatever they have set off. */
export function loadingOnly<A extends readonly unknown[]>(action: (...args: A) => Promise<void>) {
  return (...args: A) => action(...args).finally(() => systemClock.after(0, () => process.exit()));
}

/**
 * The app of one subscriber, or of the handlers without a name.
 * @throws KitError INPUT_INVALID, naming those that the app has, if it is not among them
 */
export function appOf<A extends RunningApp>(app: A, subscriber: string): A & { readonly subscriber: string } {
  const found = appsOf(app).find((one) => one.subscriber === subscriber);
  if (found) return found;
  const names = Object.keys(app.subscribers ?? {}).join(', ');
  throw new KitError('INPUT_INVALID', `the app has no subscriber ${subscriber}: it has ${names || 'none'}`);
}
