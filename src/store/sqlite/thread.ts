// A thread with a connection: the one that writes, or one for queries.
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../base/errors.ts';
import { connectionOn, type Mode, type Request, type Said } from './connection.ts';

const { path, mode } = workerData as { readonly path: string; readonly mode: Mode };
const say = (said: Said) => parentPort?.postMessage(said);
try {
  const { run } = connectionOn(path, mode);
  say({});
  parentPort?.on('message', async (requests: readonly Request[]) => say(await run(requests)));
} catch (error) {
  say({ failed: messageOf(error) });
}
