import { join } from 'node:path';
import Database from 'better-sqlite3';
import { better, defineQueue, type Queue } from 'plainjob';
import type { QueueOptions } from './queue.ts';

/** The type of all jobs. */
export const JOB = 'nothing';

/** The default logs every step to the console. */
export const silent = { error() {}, warn() {}, info() {}, debug() {} };

/** Opens plainjob's database. It sets NORMAL by itself, so what is asked for is set afterwards. */
export function openQueue({ directory, synchronous }: QueueOptions): {
  readonly db: Database.Database;
  readonly queue: Queue;
} {
  const db = new Database(join(directory, 'plainjob.db'));
  const queue = defineQueue({ connection: better(db), logger: silent });
  db.pragma(`synchronous = ${synchronous}`);
  return { db, queue };
}
