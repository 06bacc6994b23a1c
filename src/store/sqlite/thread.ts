// A thread with a connection: the one that writes, or one for queries.
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../base/errors.ts';
import { type Connection, connectionOn, type Request } from './batches.ts';
import type { Mode } from './connection.ts';

const { path, mode } = workerData as { readonly path: string; readonly mode: Mode };
const port = parentPort;
if (!port) throw new Error('this module runs on a thread');
let connection: Connection;
try {
  connection = connectionOn(path, mode);
  port.postMessage('open');
} catch (error) {
  port.postMessage({ failed: messageOf(error) });
  process.exit();
}
port.on('message', async (message: readonly Request[] | 'close') => {
  if (message !== 'close') return port.postMessage(await connection.run(message));
  await connection.close();
  port.close();
});
