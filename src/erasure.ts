import { type Clock, pause } from './base/clock.ts';
import type { Erasure, EventStore } from './store/event-store.ts';

interface Erasing {
  readonly clock: Clock;
  /** told after each step how many events were erased so far; the next step waits for its promise */
  readonly onStep: (events: number) => unknown;
}

/** How long it waits for handlers until it comes back: each time twice as long, a minute in all. */
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 32_000;

/**
 * Erases everything stored of a resource or site: bodies, ids, errors, log lines, steps, state, reminders and entries of the quarantine, of all
 * subscribers. Digests stay, by which repeats, imports and reconciling know it. Nothing is left in the file of SQLite either.
 * @returns how many events and entries, how many resources are left because a handler runs, and which because they have events of other
 *   sites, too
 * @throws KitError STORE_UNAVAILABLE, or STORE_UNUSABLE where the file of SQLite may still have something
 */
export async function erase(store: EventStore, what: Erasure, { clock, onStep }: Erasing) {
  let [events, quarantined] = [0, 0];
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    quarantined += await store.quarantine.drop({ before: Number.MAX_SAFE_INTEGER, ...what });
    const found = await store.queue.erase(what, (step) => onStep(events + step));
    events += found.events;
    const names = [what.resource ?? `site:${what.site}`, ...found.names];
    await store.reports.hideErased({ names });
    if (found.running === 0 || pauseMs > LAST_PAUSE_MS) {
      await store.compact();
      return { events, quarantined, running: found.running, shared: [...found.shared] };
    }
    await pause(clock, pauseMs);
  }
}
