import { writeSync } from 'node:fs';
import { Session, url } from 'node:inspector/promises';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { pause, repeat, systemClock, within } from '../base/clock.ts';
import { isInUsersFiles, textOf } from '../base/thrown.ts';
import { type Wrapped, wrapApp } from '../dispatch/handler.ts';

const BEAT_MS = 500;
/** So many beats may be missing before the event loop stands still. */
const MOST_MISSED = 10;
/** How long the main thread may take to say where it is, and to end. */
const ANSWER_MS = 5000;
const STDERR = 2;
/** DISPATCH_CONCURRENCY is no more. */
const MOST_AT_WORK = 1000;
const LONGEST_NAME = 128;
/** What `beats` counts, and whether a debugger may hold the main thread up. */
const [COUNT, IS_INSPECTED] = [0, 1];

/** What the main thread writes, and the other one reads: a message at each start of a handler would cost more. */
interface Watched {
  readonly beats: Int32Array;
  /** the events whose handlers are at work, with zeros between them */
  readonly names: Uint8Array;
  readonly ends: boolean;
}

/**
 * Watches the event loop of this process from a thread. If the loop stands still for five seconds, the thread says so on stderr, and which
 * handlers are at work. A debugger may hold it up for as long as it likes.
 * @param log is told once the loop goes on. Without it, the thread says where the loop stands, and ends the process with 1. With it, the
 *   thread, which takes 12 MB, starts with the first handler: a service at rest has none
 * @returns the same app, whose handlers the thread knows by their events
 */
export function watchLoop<A extends Wrapped>(app: A, log?: Logger): A {
  const beats = new Int32Array(new SharedArrayBuffer(8));
  const names = Buffer.from(new SharedArrayBuffer(MOST_AT_WORK * LONGEST_NAME));
  const places = Array.from({ length: MOST_AT_WORK }, (_, index) => index * LONGEST_NAME);
  let thread: Worker | undefined;
  const beat = async () => {
    Atomics.store(beats, IS_INSPECTED, Number(url() !== undefined));
    Atomics.add(beats, COUNT, 1);
    return BEAT_MS;
  };
  const start = () => {
    if (thread) return;
    thread = new Worker(new URL(import.meta.url), { workerData: { beats, names, ends: !log } });
    thread.unref();
    if (log) {
      thread.on('message', (stood: object) => log.error(stood, 'the event loop stood still'));
      thread.on('error', (error) => log.warn({ error: textOf(error) }, 'nothing watches the event loop'));
    }
    void beat();
    repeat(systemClock, BEAT_MS, beat);
  };
  if (!log) start();
  return wrapApp(app, (handler, kind) => async (event, ctx) => {
    start();
    const place = places.pop();
    if (place === undefined) return handler(event, ctx);
    names.write(`${kind}, event ${ctx.id}`, place, LONGEST_NAME - 1);
    try {
      return await handler(event, ctx);
    } finally {
      names.fill(0, place, place + LONGEST_NAME);
      places.push(place);
    }
  });
}

async function watchOver({ beats, names, ends }: Watched): Promise<void> {
  let [count, beatAt, missed] = [0, 0, 0];
  let atWork: readonly string[] | undefined;
  for (;;) {
    const now = systemClock.monotonic();
    if (count !== Atomics.load(beats, COUNT)) {
      if (atWork) parentPort?.postMessage({ ms: Math.round(now - beatAt), atWork });
      [count, beatAt, missed, atWork] = [Atomics.load(beats, COUNT), now, 0, undefined];
    } else if (++missed > MOST_MISSED && !atWork && Atomics.load(beats, IS_INSPECTED) === 0) {
      atWork = Buffer.from(names.buffer).toString().split(/\0+/).filter(Boolean);
      const told = atWork.map((name) => `at work: ${name}\n`);
      writeSync(STDERR, `the event loop has stood still for 5 s\n${told.join('')}`);
      if (ends) await endMain();
    }
    await pause(systemClock, BEAT_MS);
  }
}

/** Ends the process, and says where it was. A debugger alone can have the main thread do something within an endless loop. */
async function endMain(): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  const inMain = (expression: string) =>
    within(systemClock, ANSWER_MS, session.post('Runtime.evaluate', { expression }));
  const stack = await inMain('Error.stackTraceLimit = Infinity; Error().stack //# sourceURL=node:watch');
  const places = String(stack?.result.value).split('\n').filter(isInUsersFiles);
  writeSync(STDERR, `${places.join('\n') || '    the line could not be found'}\n`);
  // Node would say on stderr that it waits for the debugger, which is this session.
  if (stack) await inMain("process.getBuiltinModule('fs').closeSync(2); process.reallyExit(1)");
  process.kill(process.pid, 'SIGKILL');
}

if (workerData?.beats) void watchOver(workerData);
