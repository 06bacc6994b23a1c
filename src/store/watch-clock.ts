import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { repeat } from '../base/repeat.ts';
import type { EventStore } from './event-store.ts';
import { clockSetLately } from './pruning-limit.ts';

export interface ClockWatch {
  readonly store: Pick<EventStore, 'clock' | 'readClock'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

const ROUND_MS = 600_000;

/**
 * Looks every ten minutes whether the clock of the store was set, so that no pruning takes events that ended just before, and logs
 * where it was.
 * @returns a function that stops it
 */
export function watchClock({ store, clock, log }: ClockWatch): () => void {
  let known: number | undefined;
  const look = async (): Promise<void> => {
    const set = await clockSetLately(store, clock, (await store.clock()).now);
    if (set && set.at !== known)
      log.warn(
        { at: new Date(set.at).toISOString(), by_ms: set.by },
        'the clock of the database was set; nothing is pruned for an hour',
      );
    known = set?.at;
  };
  return repeat(clock, 0, async () => {
    await look().catch(() => {}); // a store that does not answer is told of elsewhere
    return ROUND_MS;
  });
}
