import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { EventId } from '../event-id.ts';
import type { EventFilter, ReplayOptions } from '../event-store.ts';
import type { Holder } from '../semantics/replaying.ts';
import type { writes } from './operations/writes.ts';
import type { reads } from './queries/reads.ts';
import type { StoreLink } from './store-link.ts';

/** How many events one commit resets or makes ready, so that acks come through in between. */
const STEP = 500;
/** How many events one query looks at, so that a replay can be interrupted. */
const REACH = 20_000;
/**
 * How long the reset events wait if the process ends before it makes them ready. That is enough for some ten million
 * events. Of more, the first run while the last are being reset; their handlers are told that they are late if a newer
 * event was not reset yet.
 */
const HOLD_MS = 15 * 60_000;

interface Connections {
  readonly write: StoreLink<typeof writes>;
  readonly read: StoreLink<typeof reads>;
  readonly clock: Clock;
}

/**
 * Replays the events that match in two rounds: it resets and holds them all, then it makes them all ready, both in the
 * order of event times. So an older event never runs while a newer one of its resource still counts as handled.
 */
export async function replayAll(
  connections: Connections,
  filter: EventFilter,
  options: ReplayOptions,
): Promise<number> {
  const name = randomBytes(4).toString('hex');
  const holder: Holder = { name, until: connections.clock.now() + HOLD_MS };
  let held = 0;
  try {
    for await (const ids of resetting(connections, holder, filter, options)) {
      held += ids.length;
      await options.onStep?.(ids);
    }
    await options.onHeld?.();
  } finally {
    // Also after an interruption: the sooner these events run, the fewer newer ones run before them.
    for (let from = 0; from < held; from += STEP) {
      await connections.write.request('makeReady', { holder, from, count: STEP });
      await options.onReady?.(Math.min(from + STEP, held));
    }
  }
  return held;
}

/**
 * Looks the events up on the reading connection: on the writing one, a filter that matches few events would read millions
 * of rows while acks wait.
 */
async function* resetting(
  { write, read }: Connections,
  holder: Holder,
  filter: EventFilter,
  { resetSteps = false, signal, after }: ReplayOptions,
): AsyncGenerator<readonly EventId[]> {
  const upTo = await write.request('lastPlace', undefined);
  const { status } = filter;
  let held = 0;
  let before = after;
  do {
    if (signal?.aborted) return;
    const stretch = { before, reach: REACH, limit: STEP };
    const { ids, next } = await read.request('replayable', { filter, stretch, upTo });
    if (ids.length > 0) {
      const reset = await write.request('resetEvents', { holder, ids, status, resetSteps, held });
      held += reset.length;
      yield reset;
    }
    before = next;
  } while (before !== undefined);
}
