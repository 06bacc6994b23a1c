// A thread with a connection: the one that writes, or one for queries.
import { parentPort, workerData } from 'node:worker_threads';
import { queueOn, type Request, readerOn, writerOn } from './batches.ts';

const { path, mode } = workerData as { readonly path: string; readonly mode: 'read' | 'write' };
const port = parentPort;
if (!port) throw new Error('this module runs on a thread');
let connection: ReturnType<typeof readerOn>;
try {
  connection = mode === 'write' ? writerOn(path) : readerOn(path);
  port.postMessage('open');
} catch (error) {
  port.postMessage({ failed: error instanceof Error ? error.message : String(error) });
  process.exit();
}
const queue = queueOn(connection, (answers) => port.postMessage(answers));
port.on('message', async (message: readonly Request[] | 'close') => {
  if (message !== 'close') return queue.add(message);
  await queue.end();
  connection.close();
  port.close();
});
