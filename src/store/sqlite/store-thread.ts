import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../base/errors.ts';
import { type Connection, type Mode, openConnection } from './connection.ts';
import { type Batch, contentOf, type Opened, tagged } from './protocol.ts';

/** Runs on a worker thread: one connection, one batch at a time. */
const { path, mode } = workerData as { path: string; mode: Mode };

/** How much further than the process queries give way to others that want the core; 19 is the most. */
const QUERIES_GIVE_WAY = 10;

/** Acks go before queries. Only on Linux is a priority the thread's own, and not its process's. */
function giveWay(): void {
  if (mode !== 'read' || process.platform !== 'linux') return;
  try {
    setPriority(Math.min(getPriority() + QUERIES_GIVE_WAY, 19));
  } catch (error) {
    // A sandbox may forbid it, such as systemd's filter of system calls: queries then compete with acks, and still work.
    if (!isForbidden(error)) throw error;
  }
}

/** What the operating system says no to, in Node's words. */
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
  port.on('message', (message: unknown) => {
    const batch = contentOf<Batch | 'close'>(message);
    if (batch === undefined) return;
    if (batch !== 'close') return port.postMessage(tagged(connection.run(batch)));
    connection.close();
    return port.close();
  });
}

await serve();
