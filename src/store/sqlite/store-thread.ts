import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../base/errors.ts';
import { type Connection, type Opened, tagged } from '../threads/protocol.ts';
import { serveBatches } from '../threads/serve-batches.ts';
import { type Mode, openConnection } from './connection.ts';

/** Runs on a worker thread: one connection, one batch at a time. */
const { path, mode } = workerData as { path: string; mode: Mode };

/** By how much the thread of queries is nicer than the process; 19 is the maximum. */
const QUERIES_GIVE_WAY = 10;

/** Gives acks priority over queries. Only on Linux does a thread have a priority of its own. */
function giveWay(): void {
  if (mode !== 'read' || process.platform !== 'linux') return;
  try {
    setPriority(Math.min(getPriority() + QUERIES_GIVE_WAY, 19));
  } catch (error) {
    // A sandbox may forbid it, such as systemd's filter of system calls. Queries then compete with acks, and still work.
    if (!isForbidden(error)) throw error;
  }
}

/** Whether the operating system refused a call, by the error of Node. */
function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR';
}

async function serve(): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error('this module runs on a worker thread');
  giveWay();
  let connection: Connection;
  try {
    connection = await openConnection(path, mode);
  } catch (error) {
    port.postMessage(tagged<Opened>({ opened: false, message: messageOf(error) }));
    return;
  }
  port.postMessage(tagged<Opened>({ opened: true }));
  serveBatches(port, connection);
}

await serve();
