import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';
import { systemClock, within } from '../base/clock.ts';
import { isFromUsersFiles, textOf } from '../base/thrown.ts';
import { type Claim, lineOf, type Named } from '../store/stored.ts';

/**
 * The fields by which log lines name the event that a handler was called with; none while a file of handlers is loaded. It follows the
 * timers, promises and connections that a handler sets off, also after it has ended. There is one for the process, as uncaught errors are of
 * the process, too.
 */
const scope = new AsyncLocalStorage<object>();

/** Runs code of the user's files. Errors that it leaves behind are then known to be theirs, and of this event if it is an event's handler. */
export function atWorkOn<T>(event: (Named & Pick<Claim, 'starts'>) | undefined, work: () => T): T {
  return scope.run(event ? lineOf(event) : {}, work);
}

const PATIENCE_MS = 5000;
const EXITED = 'process.exit() was called; all acknowledged notifications are on disk';

/** Tells a text to the person who started the process. */
export type Tell = (text: string) => void;

/** Does work that a start waits for, which is of the user's files. After five seconds it tells of it: nothing else says why no port opens. */
export async function awaiting<T>(what: string, work: () => T, tell: Tell): Promise<Awaited<T>> {
  const done = atWorkOn(undefined, async () => await work());
  const isDone = done.then(() => true);
  if (!(await within(systemClock, PATIENCE_MS, isDone))) tell(`after 5 s, still waiting for ${what}`);
  return await done;
}

/**
 * Watches over a process that runs handlers. It handles every uncaught error, as long as the process lives. An error that a handler left
 * behind, in a timer or in a promise without await, is logged with its event, and the process goes on: the other events have nothing to do
 * with it.
 * Any other error is the kit's own and ends the process with 1. Nothing is released then: running events keep their lease and the
 * attempt that they used, or an event that crashes its process would crash it for ever.
 *
 * A handler that calls process.exit() would end the process silently, and with 0, or with 2 as after wrong settings, nothing would start it
 * again. The guard logs the call and makes the exit code 1.
 * @returns a function after which process.exit() is expected
 */
export function guardProcess(log: Pick<Logger, 'error' | 'fatal'>) {
  const onExit = (code: number) => {
    const error = textOf(new Error('process.exit()'));
    log.fatal({ ...scope.getStore(), code, error }, EXITED);
    process.exitCode = 1;
  };
  const expectExit = () => void process.off('exit', onExit);
  const take = (thrown: unknown) => {
    const owner = scope.getStore() ?? (isFromUsersFiles(thrown) ? {} : undefined);
    const error = textOf(thrown);
    if (owner) return log.error({ ...owner, error }, 'a handler left an error behind');
    log.fatal({ error }, 'crashed; all acknowledged notifications are on disk');
    expectExit();
    process.exit(1);
  };
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, take);
  process.once('beforeExit', expectExit); // Node emits no beforeExit at a process.exit()
  process.on('exit', onExit);
  return expectExit;
}
