import { parentPort } from 'node:worker_threads';
import { tagged } from '../../src/store/threads/protocol.ts';
import { serveBatches } from '../../src/store/threads/serve-batches.ts';
import { OddConnection } from './odd-connection.ts';

// A store thread whose operations give back what no thread can.
if (!parentPort) throw new Error('this module runs on a worker thread');
parentPort.postMessage(tagged({ opened: true }));
serveBatches(parentPort, new OddConnection());
