import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { EventId } from '../event-id.ts';
import type { Picked, Stretch } from '../event-search.ts';
import type { EventFilter, ReplayOptions } from '../event-store.ts';
import { REACH } from '../filters.ts';
import type { Holder, Ready, Reset } from './replaying.ts';

/** How many events one commit resets or makes ready, so that acks come through in between. */
const STEP = 500;
/**
 * How long the reset events wait if the process ends before it makes them ready. That is enough for some ten million
 * events. Of more, the first run while the last are being reset; their handlers are told that they are late if a newer
 * event was not reset yet.
 */
const HOLD_MS = 15 * 60_000;

export interface ReplayQuery {
  readonly filter: EventFilter;
  readonly stretch: Stretch;
  /** leaves out events that were recorded after this one */
  readonly upTo?: number | undefined;
}

/** What a replay asks of a database. Each call but the query is one commit. */
export interface ReplayedDatabase {
  lastPlace(): Promise<number>;
  /** A query of readers: where it delayed writes, a filter that matches few events would hold up acks. */
  replayable(query: ReplayQuery): Promise<Picked>;
  resetEvents(reset: Reset): Promise<readonly EventId[]>;
  makeReady(ready: Ready): Promise<void>;
}

/**
 * Replays the events that match in two rounds: it resets and holds them all, then it makes them all ready, both in the
 * order of event times. So an older event never runs while a newer one of its resource still counts as handled.
 */
export async function replayAll(
  { database, clock }: { readonly database: ReplayedDatabase; readonly clock: Clock },
  filter: EventFilter,
  options: ReplayOptions,
): Promise<number> {
  const name = randomBytes(4).toString('hex');
  const holder: Holder = { name, until: clock.now() + HOLD_MS };
  let held = 0;
  try {
    for await (const ids of resetting(database, holder, filter, options)) {
      held += ids.length;
      await options.onStep?.(ids);
    }
    await options.onHeld?.();
  } finally {
    // Also after an interruption: the sooner these events run, the fewer newer ones run before them.
    for (let from = 0; from < held; from += STEP) {
      await database.makeReady({ holder, from, count: STEP });
      await options.onReady?.(Math.min(from + STEP, held));
    }
  }
  return held;
}

async function* resetting(
  database: ReplayedDatabase,
  holder: Holder,
  filter: EventFilter,
  { resetSteps = false, signal, after }: ReplayOptions,
): AsyncGenerator<readonly EventId[]> {
  const upTo = await database.lastPlace();
  const { status } = filter;
  let held = 0;
  let before = after;
  do {
    if (signal?.aborted) return;
    const stretch = { before, reach: REACH, limit: STEP };
    const { ids, next } = await database.replayable({ filter, stretch, upTo });
    if (ids.length > 0) {
      const reset = await database.resetEvents({ holder, ids, status, resetSteps, held });
      held += reset.length;
      yield reset;
    }
    before = next;
  } while (before !== undefined);
}
