import { runChild } from '../children.ts';
import { onServer, withDatabase } from '../database.ts';
import { atLeast, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import type { QueueFigures } from '../queues/queue.ts';
import type { Sizes } from '../sizes.ts';
import type { Section } from './section.ts';

/** Each of another key. */
const UNORDERED = {
  ours: { file: 'ours' },
  'ours, 2 processes': { file: 'our-processes', processes: 2 },
  'ours, 3 processes': { file: 'our-processes', processes: 3 },
  'graphile-worker': { file: 'graphile-worker', hasLocalQueue: false, isDurable: true },
  'graphile-worker, local queue': { file: 'graphile-worker', hasLocalQueue: true, isDurable: true },
  'graphile-worker, local queue, no wait': { file: 'graphile-worker', hasLocalQueue: true, isDurable: false },
  'pg-boss, batches of 16': { file: 'pg-boss', batchSize: 16 },
  'pg-boss, batches of 200': { file: 'pg-boss', batchSize: 200 },
} as const;

/** It asks for the next job before the last one has freed its queue, finds none, and waits: two seconds by default. */
const NAMED_QUEUE = { file: 'graphile-worker', isDurable: true, pollMs: 5 } as const;

/** All of one key. */
const ONE_KEY = {
  'ours, one media': { file: 'ours' },
  'graphile-worker, one queue_name': { ...NAMED_QUEUE, hasLocalQueue: false },
  'graphile-worker, local queue, one queue_name': { ...NAMED_QUEUE, hasLocalQueue: true },
  'pg-boss, one singletonKey': { file: 'pg-boss', batchSize: 1 },
} as const;

/** Of 200 keys in turn, one at a time of each. */
const MANY_KEYS = {
  'ours, 200 media': { file: 'ours', keys: 200 },
  'graphile-worker, 200 queue_names': { ...NAMED_QUEUE, hasLocalQueue: false, keys: 200 },
  'graphile-worker, local queue, 200 queue_names': { ...NAMED_QUEUE, hasLocalQueue: true, keys: 200 },
} as const;

const ALL = { ...UNORDERED, ...ONE_KEY, ...MANY_KEYS };
type Case = keyof typeof ALL;
const CASES = Object.keys(ALL) as Case[];

const NOTES = `- A job does nothing when its turn comes. All jobs exist before the clock starts, and the benchmark checks that all are done
  when it ends. Each case has a database of its own on the server of BENCH_POSTGRES, and a process of its own. The server
  shares the cores with it; its processor time is not in \`µs\`.
- \`ours\`: from pending to handled, each of another media, 16 at once; every attempt is recorded, and no two of one media run
  at once. \`ours, 2 processes\`: as many receivers on one database, with 16 at once each; \`µs\` is the sum of them.
- Acks and claims of ours wait for the disk; results do not: an event whose result is lost runs again. The others wait at each
  commit, but for \`no wait\`, which has \`synchronous_commit = off\`.
- [graphile-worker](https://worker.graphile.org) 0.18.0: 16 at once, a pool of 17. \`local queue\` is as its page on performance
  measures it: \`localQueue.size\` 500, \`completeJobBatchDelay\` and \`failJobBatchDelay\` 0. It deletes jobs that are done.
- [pg-boss](https://pgboss.io) 12.38.0: one worker with \`burstWhenBatchFull\`, which claims and finishes a batch at a time. It keeps
  jobs that are done. Neither of the two records attempts.
- One key: graphile-worker runs the jobs of a \`queue_name\` one at a time. It asks for the next before the last has freed the
  queue, and then waits for \`pollInterval\`: 5 ms here, as the default of two seconds would give two or three jobs a second.
  pg-boss has a queue with the policy \`singleton\`, which allows one active job for each \`singletonKey\`; a worker fetches
  one job, and is notified at once to fetch the next.`;

/** Jobs a second, beside two job queues on the same PostgreSQL server. */
export const queues: Section = {
  title: 'Queues on PostgreSQL',
  run: (sizes) => onServer((server) => run(server, sizes)),
};

async function run(server: string, sizes: Sizes): Promise<string> {
  const results = await interleaved(CASES, sizes.rounds, (name) => measure(server, name, sizes));
  const rate = (name: Case) => results[name].perSecond;
  const rowsOf = (cases: object, base: Case) =>
    (Object.keys(cases) as Case[]).map((name) => [
      name,
      number(rate(name)),
      ratio(rate(name), rate(base)),
      number(results[name].cpuMicros),
    ]);
  const head = (jobs: number, ours: string) => [`jobs/s, of ${number(jobs)}`, ours, 'µs of processor a job'];
  return [
    table(['each of another key', ...head(sizes.jobs, 'of ours')], rowsOf(UNORDERED, 'ours')),
    table(
      ['all of one key', ...head(sizes.oneKeyJobs, 'of ours, one media')],
      rowsOf(ONE_KEY, 'ours, one media'),
    ),
    table(
      ['of 200 keys in turn', ...head(sizes.oneKeyJobs, 'of ours, 200 media')],
      rowsOf(MANY_KEYS, 'ours, 200 media'),
    ),
    NOTES,
    goalTable([
      atLeast(
        'ours, of graphile-worker with its local queue',
        rate('ours') / rate('graphile-worker, local queue'),
        1,
      ),
      atLeast(
        'ours, one media, of graphile-worker with its local queue',
        rate('ours, one media') / rate('graphile-worker, local queue, one queue_name'),
        1,
      ),
    ]),
  ].join('\n\n');
}

function measure(server: string, name: Case, sizes: Sizes): Promise<QueueFigures> {
  const { file, ...options } = ALL[name];
  const isOneKey = name in ONE_KEY;
  const jobs = name in UNORDERED ? sizes.jobs : sizes.oneKeyJobs;
  const keys = 'keys' in options ? options.keys : isOneKey ? 1 : jobs;
  return withDatabase(server, (url) =>
    runChild<QueueFigures>(`./queues/${file}.ts`, {
      ...options,
      url,
      jobs,
      isOneKey,
      resources: keys,
    }),
  );
}
