// A thread with a connection: the one that writes, or one for queries.
import { parentPort, workerData } from 'node:worker_threads';
import { isUnavailable, messageOf } from '../../base/errors.ts';
import { type Connection, connectionOn, type Mode, type Request } from './connection.ts';

/** What the thread says: that it is ready, or how requests ended. */
export interface Said {
  readonly outputs?: readonly unknown[];
  readonly failed?: string;
  readonly isUnavailable?: boolean;
}

const { path, mode } = workerData as { readonly path: string; readonly mode: Mode };
const say = (said: Said) => parentPort?.postMessage({ said });
const failure = (error: unknown): Said => ({ failed: messageOf(error), isUnavailable: isUnavailable(error) });
let connection: Connection;
try {
  connection = connectionOn(path, mode);
  say({});
} catch (error) {
  say(failure(error));
  process.exit();
}
parentPort?.on('message', async (requests: readonly Request[] | 'close') => {
  if (requests !== 'close')
    return say(await connection.run(requests).then((outputs) => ({ outputs }), failure));
  await connection.close();
  parentPort?.close();
});
