import { parentPort, workerData } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { messageOf } from '../../errors.ts';
import { openReader, openWriter } from './open.ts';
import { reads, writes } from './operations/index.ts';
import type { Answers, Batch, Opened, Operations } from './protocol.ts';

/** Runs on a worker thread: one connection, one batch at a time. */
const { path, mode } = workerData as { path: string; mode: 'read' | 'write' };

function bind(db: Database, operations: Operations): (call: Batch[number]) => unknown {
  const bound = new Map(Object.entries(operations).map(([name, make]) => [name, make(db)]));
  return ({ name, input }) => {
    const operation = bound.get(name);
    if (!operation) throw new Error(`no operation ${name}`);
    return operation(input as never);
  };
}

function failure(error: unknown): Answers[number] {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return { error: { message: messageOf(error), code } };
}

function attempt(run: () => unknown): Answers[number] {
  try {
    return { output: run() };
  } catch (error) {
    return failure(error);
  }
}

/** All calls in one commit; if that fails, each in a commit of its own, so that one cannot spoil the others. */
function writeBatch(db: Database, call: (one: Batch[number]) => unknown, batch: Batch): Answers {
  try {
    return db.transaction(() => batch.map((one) => ({ output: call(one) }))).immediate();
  } catch (error) {
    if (batch.length === 1) return [failure(error)];
    return batch.map((one) => attempt(() => db.transaction(() => call(one)).immediate()));
  }
}

function serve(): void {
  const port = parentPort;
  if (!port) throw new Error('this module runs on a worker thread');
  let db: Database;
  try {
    db = mode === 'write' ? openWriter(path) : openReader(path);
  } catch (error) {
    port.postMessage({ opened: false, message: messageOf(error) } satisfies Opened);
    return;
  }
  const call = bind(db, mode === 'write' ? writes : reads);
  port.postMessage({ opened: true } satisfies Opened);
  port.on('message', (batch: Batch | 'close') => {
    if (batch === 'close') {
      db.close();
      port.close();
    } else if (mode === 'write') port.postMessage(writeBatch(db, call, batch));
    else port.postMessage(batch.map((one) => attempt(() => call(one))));
  });
}

serve();
