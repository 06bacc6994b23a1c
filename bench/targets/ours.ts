import { devNull } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { boundHeap } from '../../src/base/bounded-heap.ts';
import { parseConfig } from '../../src/config.ts';
import { start } from '../../src/start.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { BENCH_SECRET, BENCH_SECRETS_KEY } from '../secret.ts';
import { idleHandlers } from './handlers.ts';
import { serveBenchmark } from './usage.ts';

export interface OursOptions {
  /** the file of a SQLite database */
  readonly database?: string;
  /** a DATABASE_URL in its place */
  readonly url?: string;
  /** how long every handler takes, in milliseconds */
  readonly handlersMs?: number;
  /** runs the dearest queries all the time */
  readonly queried?: boolean;
  /** REJECT_LIMIT */
  readonly rejectLimit?: number;
}

// The whole service, the admin listener included, as `npm start` runs it.
const {
  database,
  url = `sqlite:${database}`,
  handlersMs,
  queried,
  rejectLimit,
}: OursOptions = JSON.parse(process.argv[2] ?? '{}');
boundHeap();
const config = parseConfig({
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  DATABASE_URL: url,
  SECRETS_KEY: BENCH_SECRETS_KEY.toString('base64'),
  WEBHOOK_SECRET: BENCH_SECRET,
  REJECT_LIMIT: rejectLimit?.toString(),
});
// Who sends what is refused gets a line for each; it is written, but not between the results.
const log = pino({ level: 'warn' }, rejectLimit === undefined ? undefined : pino.destination(devNull));
const service = await start({ config, app: { handlers: idleHandlers(handlersMs) }, log });
const { port, store } = service;
let queries = 0;
let isStopping = false;

/** Goes through every event again and again, for a text that stands nowhere: no index helps. */
async function queryOn(q: string): Promise<void> {
  const everything = Number.MAX_SAFE_INTEGER;
  while (!isStopping) {
    await store.count({ q });
    await store.events({ q }, { limit: 50 });
    await store.search({ q }, { limit: 50, reach: everything });
    queries += 3;
  }
}

async function unfinished(events: EventStore): Promise<number> {
  const { tallies } = await events.overview();
  return tallies
    .filter(({ status }) => status === 'pending' || status === 'running')
    .reduce((sum, tally) => sum + tally.events, 0);
}

async function handled(): Promise<void> {
  while ((await unfinished(store)) > 0) await sleep(50);
}

async function stop(): Promise<void> {
  isStopping = true;
  await querying;
  await handled();
  await service.stop();
}

const querying = queried ? queryOn('this stands nowhere') : undefined;
serveBenchmark({ port, queries: () => queries, handled, stop });
