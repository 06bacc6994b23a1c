import { writeSync } from 'node:fs';
import { Session, url } from 'node:inspector/promises';
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { pause, repeat, systemClock, within } from '../base/clock.ts';
import { isInUsersFiles, textOf } from '../base/thrown.ts';
import { type Wrapped, wrapApp } from '../dispatch/handler.ts';

const BEAT_MS = 500;
/** The event loop stands still once this many beats are missing. */
const MOST_MISSED = 10;
/** How long the main thread may take to say where it is, and to end. */
const ANSWER_MS = 5000;
const STDERR = 2;

/**
 * Watches the event loop of this process from a thread. If the loop stands still for five seconds, the thread says so on stderr, and in which
 * of the user's lines. A debugger may hold it up for as long as it likes.
 * @param log is told once the loop goes on. Without it, the thread ends the process with 1. With it, the thread, which takes 12 MB, starts
 *   with the first handler: a service at rest has none
 * @returns the same app, whose handlers start the thread
 */
export function watchLoop<A extends Wrapped>(app: A, log?: Logger): A {
  let thread: Worker | undefined;
  const beat = async () => {
    thread?.postMessage(url() !== undefined); // a debugger may hold this thread up
    return BEAT_MS;
  };
  const start = () => {
    if (thread) return;
    const workerData = { watching: log ? 'told' : 'ended' };
    thread = new Worker(new URL(import.meta.url), { workerData, execArgv: [] });
    thread.unref();
    if (log) {
      thread.on('message', (stood: object) => log.error(stood, 'the event loop stood still'));
      thread.on('error', (error) => log.warn({ error: textOf(error) }, 'nothing watches the event loop'));
    }
    void beat();
    repeat(systemClock, BEAT_MS, beat);
  };
  if (!log) start();
  return wrapApp(app, (handler) => (event, ctx) => {
    start();
    return handler(event, ctx);
  });
}

async function watchOver(main: MessagePort): Promise<void> {
  let [hasBeaten, isInspected, beatAt, missed] = [true, false, 0, 0];
  let where: string | undefined;
  main.on('message', (inspected: boolean) => {
    [hasBeaten, isInspected] = [true, inspected];
  });
  for (;;) {
    const now = systemClock.monotonic();
    if (hasBeaten) {
      if (where) main.postMessage({ ms: Math.round(now - beatAt), where });
      [hasBeaten, beatAt, missed, where] = [false, now, 0, undefined];
    } else if (++missed > MOST_MISSED && !where && !isInspected) {
      writeSync(STDERR, 'the event loop has stood still for 5 s\n');
      where = await tellPlace(workerData.watching === 'ended');
    }
    await pause(systemClock, BEAT_MS);
  }
}

/**
 * Says where the main thread is, and ends the process if it must end. A debugger alone can have that thread do something within an endless
 * loop. It cannot within a call such as `execSync`.
 */
async function tellPlace(ends: boolean): Promise<string> {
  const session = new Session();
  session.connectToMainThread();
  const inMain = (expression: string) =>
    within(systemClock, ANSWER_MS, session.post('Runtime.evaluate', { expression }));
  const stack = await inMain('Error.stackTraceLimit = Infinity; Error().stack //# sourceURL=node:watch');
  const places = String(stack?.result.value).split('\n').filter(isInUsersFiles);
  const where = places.join('\n') || '    the line could not be found';
  writeSync(STDERR, `${where}\n`);
  // Node would say on stderr that it waits for the debugger, which is this session.
  if (ends && stack) await inMain("process.getBuiltinModule('fs').closeSync(2); process.reallyExit(1)");
  if (ends) process.kill(process.pid, 'SIGKILL');
  session.disconnect();
  return where;
}

if (parentPort && workerData?.watching) void watchOver(parentPort);
