import { type MessagePort, parentPort } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import {
  type Connection,
  contentOf,
  type FromThread,
  type Opened,
  type Replies,
  type ToThread,
  tagged,
} from './protocol.ts';
import { StayingAwake } from './staying-awake.ts';
import { copyOfReply } from './store-link.ts';

/** Makes this thread a store thread: it opens a connection, tells its parent whether it could, and does batches. */
export async function serveThread(open: () => Promise<Connection>): Promise<void> {
  if (!parentPort) throw new Error('this module runs on a worker thread');
  let connection: Connection;
  try {
    connection = await open();
  } catch (error) {
    parentPort.postMessage(tagged<Opened>({ opened: false, message: messageOf(error) }));
    return;
  }
  parentPort.postMessage(tagged<Opened>({ opened: true }));
  serveBatches(parentPort, connection);
}

/** Does the batches that come through a port, until `close`. What cannot be passed on fails its own request only. */
export function serveBatches(port: MessagePort, connection: Connection): void {
  let last: Replies = [];
  const post = (content: FromThread) => port.postMessage(tagged<FromThread>(content));
  const awake = new StayingAwake(systemClock);
  const run = async (batch: Exclude<ToThread, string>): Promise<void> => {
    last = await connection.run(batch);
    try {
      post(last);
    } catch {
      last = last.map(copyOfReply);
      post(last);
    }
    awake.awaits(batch);
  };
  port.on('message', (message: unknown) => {
    const content = contentOf<ToThread>(message);
    if (content === undefined) return;
    awake.came();
    if (content === 'singly') return last.forEach((reply) => void post([reply]));
    if (content !== 'close') return void run(content);
    connection.close();
    return port.close();
  });
  // Node could not make values of the message again, as where they are nested too deeply for the stack of this thread.
  port.on('messageerror', () => post('unreadable'));
}
