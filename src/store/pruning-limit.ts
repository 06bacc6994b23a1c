import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { roughly } from '../base/time-text.ts';
import type { EventStore } from './event-store.ts';

const HOUR_MS = 3_600_000;
const MOST_APART_MS = 60_000;

/**
 * Before which time an event must have ended to be pruned, by the clock of the store. What ended within the last hour stays,
 * also within the last hour before the newest time that is stored: where a clock was set ahead, that is what ended just now.
 * @param own the clock of this process
 * @throws KitError CLOCKS_DIFFER while it and the store's are more than a minute apart
 */
export async function pruningLimit(
  store: Pick<EventStore, 'clock'>,
  own: Clock,
  olderThanMs: number,
): Promise<number> {
  const { now, newestAt = now } = await store.clock();
  const apart = own.now() - now;
  if (Math.abs(apart) > MOST_APART_MS) {
    throw new KitError(
      'CLOCKS_DIFFER',
      `the clock of this process is ${roughly(Math.round(Math.abs(apart) / 1000))} ${apart > 0 ? 'ahead of' : 'behind'} the database's: ` +
        'set it right first, since nothing is pruned while they differ by more than a minute',
    );
  }
  return Math.min(now - Math.max(olderThanMs, HOUR_MS), newestAt - HOUR_MS);
}
