import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../errors.ts';
import { type Connection, type Mode, openConnection } from './connection.ts';
import type { Batch, Opened } from './protocol.ts';

/** Runs on a worker thread: one connection, one batch at a time. */
const { path, mode } = workerData as { path: string; mode: Mode };

function serve(): void {
  const port = parentPort;
  if (!port) throw new Error('this module runs on a worker thread');
  let connection: Connection;
  try {
    connection = openConnection(path, mode);
  } catch (error) {
    port.postMessage({ opened: false, message: messageOf(error) } satisfies Opened);
    return;
  }
  port.postMessage({ opened: true } satisfies Opened);
  port.on('message', (batch: Batch | 'close') => {
    if (batch !== 'close') return port.postMessage(connection.run(batch));
    connection.close();
    return port.close();
  });
}

serve();
