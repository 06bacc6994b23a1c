import { writeSync } from 'node:fs';
import { type Debugger, Session, url } from 'node:inspector';
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { pause, repeat, systemClock, within } from '../base/clock.ts';
import { isInUsersFiles } from '../base/thrown.ts';
import { type Handlers, wrapHandlers } from '../dispatch/handler.ts';

const BEAT_MS = 1000;
/** So many beats may be missing before the event loop stands still. */
const MOST_MISSED = 5;
/** How long the main thread may take to say where it is, and to end. */
const ANSWER_MS = 1000;
const STDERR = 2;
/** Tells this module that it is in the thread. */
const WATCH = 'watch the event loop';

/** What the main thread says again and again. */
interface Beat {
  /** the handlers at work: their events, and since when, milliseconds since the epoch */
  readonly atWork: readonly { readonly event: string; readonly began: number }[];
  readonly isInspected: boolean;
}

/**
 * Watches the event loop of this process from a thread. If the loop stands still for five seconds, the thread tells where, and of which
 * handlers, and ends the process with 1. A debugger may hold it up for as long as it likes.
 * @returns the same handlers, whose events the thread knows
 */
export function watchLoop(handlers: Handlers): Handlers {
  const thread = new Worker(new URL(import.meta.url), { workerData: WATCH });
  thread.unref();
  const atWork = new Map<string, Beat['atWork'][number]>();
  const beat = () => thread.postMessage({ atWork: [...atWork.values()], isInspected: url() !== undefined });
  repeat(systemClock, 0, async () => {
    beat();
    return BEAT_MS;
  });
  return wrapHandlers(handlers, (handler) => async (event, ctx) => {
    const { kind, resource } = ctx.log.bindings();
    atWork.set(ctx.id, { event: `${kind} of ${resource}, event ${ctx.id}`, began: systemClock.now() });
    beat();
    try {
      return await handler(event, ctx);
    } finally {
      atWork.delete(ctx.id);
      beat();
    }
  });
}

function watchOver(main: MessagePort): void {
  let last: Beat = { atWork: [], isInspected: false };
  let missed = 0;
  main.on('message', (beat: Beat) => {
    last = beat;
    missed = 0;
  });
  repeat(systemClock, BEAT_MS, async () => {
    missed++;
    if (missed > MOST_MISSED && !last.isInspected) await endMain(last);
    return BEAT_MS;
  });
}

async function endMain({ atWork }: Beat): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  try {
    const place = await within(systemClock, ANSWER_MS, placeOfMain(session));
    const lines = [
      'the event loop has stood still for 5 s:',
      place ?? '    in a call that nothing interrupts, such as execSync',
      ...atWork.map(({ event, began }) => `at work for ${systemClock.now() - began} ms: ${event}`),
    ];
    writeSync(STDERR, `${lines.join('\n')}\n`);
    // Node would say on stderr that it waits for the debugger, which is this session.
    const expression = "process.getBuiltinModule('fs').closeSync(2); process.reallyExit(1)";
    session.post('Runtime.evaluate', { expression });
    await pause(systemClock, ANSWER_MS);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}

/** Where the main thread is, as the lines of a stack: those in files of the user's, if there are any. */
async function placeOfMain(session: Session): Promise<string> {
  const files = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url));
  const paused = Promise.withResolvers<Debugger.PausedEventDataType>();
  session.once('Debugger.paused', ({ params }) => paused.resolve(params));
  session.post('Debugger.enable');
  session.post('Debugger.pause');
  const { callFrames } = await paused.promise;
  const frames = callFrames.map(({ functionName, location: { scriptId, lineNumber, columnNumber = 0 } }) => {
    const place = `${files.get(scriptId)}:${lineNumber + 1}:${columnNumber + 1}`;
    return `    at ${functionName || '<anonymous>'} (${place})`;
  });
  const users = frames.filter(isInUsersFiles);
  return (users.length > 0 ? users : frames).join('\n');
}

if (parentPort && workerData === WATCH) watchOver(parentPort);
