import { setTimeout as sleep } from 'node:timers/promises';

export interface QueueOptions {
  readonly directory: string;
  readonly jobs: number;
  /** what a commit waits for, where the queue leaves that to its user */
  readonly synchronous: 'FULL' | 'NORMAL';
}

/** Of a queue on PostgreSQL. */
export interface ServerQueueOptions {
  /** of a database of its own */
  readonly url: string;
  readonly jobs: number;
  /** all jobs are of one key, and run one at a time */
  readonly isOneKey: boolean;
  /** the jobs are of so many keys in turn, and run one at a time of each; without it, each is of another key */
  readonly keys?: number;
}

/** How many jobs run at once, as ours do by default. */
export const AT_ONCE = 16;

/** Calls `add` with so many numbers from 0 on, a thousand at a time. */
export async function addAll(jobs: number, add: (numbers: number[]) => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: jobs }, (_, n) => n);
  for (let from = 0; from < jobs; from += 1000) await add(numbers.slice(from, from + 1000));
}

/** How long results may take after the last handler has run, in milliseconds. */
const MOST_RESULTS_MS = 10_000;

/** Waits until no job is left: a handler has run before its result is stored. Those that stay left are found by `tell`. */
export async function untilNone(left: () => Promise<number>): Promise<void> {
  const end = performance.now() + MOST_RESULTS_MS;
  while (performance.now() < end && (await left()) > 0) await sleep(5);
}

/** What became of a queue that was full when the clock started. */
export interface QueueFigures {
  readonly perSecond: number;
  /** microseconds of processor time a job, of all threads of the process */
  readonly cpuMicros: number;
}

/** The options of this process. */
export function queueOptions<O extends { readonly jobs: number } = QueueOptions>(): O {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** Times how long `run` takes to do all jobs, checks that none is left, and tells the benchmark. */
export async function timeQueue(
  jobs: number,
  run: () => Promise<unknown>,
  left: () => number | Promise<number>,
): Promise<void> {
  const before = process.cpuUsage();
  const began = performance.now();
  await run();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(before);
  await tell({ jobs, seconds, cpuMicros: user + system, left });
}

interface Done {
  readonly jobs: number;
  readonly seconds: number;
  /** of all jobs together */
  readonly cpuMicros: number;
  readonly left: () => number | Promise<number>;
}

/** Checks that no job is left, and tells the benchmark. */
export async function tell({ jobs, seconds, cpuMicros, left }: Done): Promise<void> {
  const undone = await left();
  if (undone !== 0) throw new Error(`${undone} of ${jobs} jobs were not done`);
  process.send?.({ perSecond: jobs / seconds, cpuMicros: cpuMicros / jobs } satisfies QueueFigures);
}
