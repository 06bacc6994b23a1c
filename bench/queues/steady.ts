import { once } from 'node:events';
import { quantile } from '../measure.ts';

export interface SteadyOptions {
  /** of a database of its own */
  readonly url: string;
  readonly seconds: number;
  /** jobs that come in */
  readonly perSecond: number;
}

/** What happened in a tenth of the time. Times are milliseconds from the moment a job is due to be added until it runs. */
export interface Tenth {
  readonly perSecond: number;
  /** null where nothing ran */
  readonly p50: number | null;
  readonly p99: number | null;
}

export interface SteadyFigures {
  readonly tenths: readonly Tenth[];
  /** jobs that had come in and had not run at the end */
  readonly backlog: number;
}

interface SteadyQueue {
  /** Adds the jobs of these numbers. */
  readonly add: (numbers: readonly number[]) => Promise<unknown>;
  /** Calls `ran` for each job whose turn has come. */
  readonly start: (ran: (n: number) => void) => Promise<void>;
}

/** How often jobs come in, in milliseconds. */
const TICK_MS = 10;

/** The options of this process. */
export function steadyOptions(): SteadyOptions {
  return JSON.parse(process.argv[2] ?? '{}');
}

/**
 * Once the benchmark says so, adds jobs at a steady rate, whatever becomes of them, and has them handled. It ends when the time
 * is over, however many are left.
 */
export async function runSteadily(
  { seconds, perSecond }: SteadyOptions,
  { add, start }: SteadyQueue,
): Promise<void> {
  process.send?.('ready');
  await once(process, 'message');
  const addedAt: number[] = [];
  const times: number[][] = Array.from({ length: 10 }, () => []);
  const began = performance.now();
  const tenthAt = (now: number) => times[Math.floor((now - began) / (seconds * 100))];
  await start((n) => {
    const now = performance.now();
    const added = addedAt[n];
    if (added === undefined) throw new Error(`job ${n} was never added`);
    // At least once is what queues promise: the first time counts.
    if (!Number.isNaN(added)) tenthAt(now)?.push(now - added);
    addedAt[n] = Number.NaN;
  });
  await new Promise<void>((resolve, reject) => {
    const tick = () => {
      const elapsed = performance.now() - began;
      if (elapsed >= seconds * 1000) return resolve();
      const ticks = Math.floor(elapsed / TICK_MS);
      const due = Math.floor((ticks * TICK_MS * perSecond) / 1000);
      const numbers = Array.from({ length: due - addedAt.length }, (_, index) => addedAt.length + index);
      // Where the process is late, it is the job that waits.
      for (const n of numbers)
        addedAt[n] = began + Math.ceil(((n + 1) * 1000) / perSecond / TICK_MS) * TICK_MS;
      if (numbers.length > 0) add(numbers).catch(reject);
      setTimeout(tick, (ticks + 1) * TICK_MS - elapsed);
    };
    tick();
  });
  process.send?.({
    tenths: times.map((all) => ({
      perSecond: all.length / (seconds / 10),
      p50: all.length > 0 ? quantile(all, 0.5) : null,
      p99: all.length > 0 ? quantile(all, 0.99) : null,
    })),
    backlog: addedAt.filter((added) => !Number.isNaN(added)).length,
  } satisfies SteadyFigures);
}
