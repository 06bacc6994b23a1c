import { type Clock, pause } from './base/clock.ts';
import type { EventFilter, EventStore } from './store/event-store.ts';

/** What is erased: a resource, as `media:ID`, or a site. */
export type Erasure = Pick<EventFilter, 'resource' | 'site'>;

interface Erasing {
  readonly clock: Clock;
  /** told after each step how many events were erased so far */
  readonly onStep: (events: number) => void;
}

/** For so long an erase comes back for what handlers run. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1000;

/**
 * Erases what is stored of a resource or site: bodies, ids, errors, log lines, steps, state, reminders and entries of the quarantine, of all
 * subscribers. Digests stay, by which repeats, imports and reconciling know it. Nothing is left in the file of SQLite either.
 * @returns how many events and entries, how many resources are left because a handler runs, and which because they have events of other
 *   sites, too
 * @throws KitError STORE_UNAVAILABLE
 */
export async function erase(store: EventStore, what: Erasure, { clock, onStep }: Erasing) {
  const { queue, quarantine, reports } = store;
  const until = clock.now() + PATIENCE_MS;
  let [events, unproven, running] = [0, 0, 0];
  let shared = new Set<string>();
  // What is recorded, given to a subscriber or due meanwhile is found by the last look.
  for (let isDone = false; !isDone; ) {
    const dropped = await quarantine.drop({ before: Number.MAX_SAFE_INTEGER, ...what });
    const found = await queue.erase(what, (step) => onStep(events + step));
    unproven += dropped;
    events += found.events;
    ({ running, shared } = found);
    isDone = dropped + found.events + running === 0 || (running > 0 && clock.now() >= until);
    if (running > 0 && !isDone) await pause(clock, PAUSE_MS);
  }
  await reports.hideErased({ name: what.resource ?? `site:${what.site}` });
  await store.compact();
  return { events, quarantined: unproven, running, shared: [...shared] };
}
