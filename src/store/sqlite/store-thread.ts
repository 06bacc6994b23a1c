import { workerData } from 'node:worker_threads';
import { giveWay } from '../threads/give-way.ts';
import { serveThread } from '../threads/serve-batches.ts';
import { type Mode, openConnection } from './connection.ts';

/** Runs on a worker thread: one connection, one batch at a time. */
const { path, mode } = workerData as { path: string; mode: Mode };

if (mode === 'read') giveWay(); // acks go before queries
await serveThread(() => openConnection(path, mode));
