import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { roughly } from '../base/time-text.ts';
import type { ClockSet, EventStore } from './event-store.ts';

const HOUR_MS = 3_600_000;
const MOST_APART_MS = 60_000;

/**
 * Before which time an event must have ended to be pruned, by the clock of the store. What ended within the last hour stays,
 * also within the last hour before the newest time that is stored: where a clock was set ahead, that is what ended just now.
 * @param own the clock of this process
 * @throws KitError CLOCKS_DIFFER while it and the store's are more than a minute apart, and for an hour after it was seen
 *   that the store's was set: events that ended before have times of the old clock
 */
export async function pruningLimit(
  store: Pick<EventStore, 'clock' | 'readClock'>,
  own: Clock,
  olderThanMs: number,
): Promise<number> {
  const { now, newestAt = now } = await store.clock();
  const apart = own.now() - now;
  if (Math.abs(apart) > MOST_APART_MS) {
    throw new KitError(
      'CLOCKS_DIFFER',
      `the clock of this process is ${inWords(apart)} ${apart > 0 ? 'ahead of' : 'behind'} the database's: ` +
        'set it right first, since nothing is pruned while they differ by more than a minute',
    );
  }
  const set = await clockSetLately(store, own, now);
  if (set) {
    throw new KitError(
      'CLOCKS_DIFFER',
      `the database's clock was found set ${set.by > 0 ? 'ahead' : 'back'} by ${inWords(set.by)} at ${timeOf(set.at)}: events that ended ` +
        `before have times of the old clock, so nothing is pruned until ${timeOf(set.at + HOUR_MS)}`,
    );
  }
  return Math.min(now - Math.max(olderThanMs, HOUR_MS), newestAt - HOUR_MS);
}

/**
 * Whether the store's clock was set by more than a minute, as far as was seen within the last hour.
 * @param own tells how long this machine has been running, which such a change leaves alone
 * @param now by the clock of the store
 */
export async function clockSetLately(
  store: Pick<EventStore, 'readClock'>,
  own: Clock,
  now: number,
): Promise<ClockSet | undefined> {
  const running = own.sinceBoot?.();
  if (!running) return undefined;
  const set = await store.readClock({ machine: running.machine, sinceBootMs: running.ms, now });
  return set && Math.abs(now - set.at) < HOUR_MS ? set : undefined;
}

function inWords(ms: number): string {
  return roughly(Math.round(Math.abs(ms) / 1000));
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
