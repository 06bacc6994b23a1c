import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { EventId } from '../event-id.ts';
import type { EventFilter, ReplayOptions } from '../event-store.ts';
import type { Holder } from './operations/reset.ts';
import type { writes } from './operations/writes.ts';
import type { reads } from './queries/reads.ts';
import type { Calls } from './thread-link.ts';

/** How many events one commit puts back or makes ready, so that acks come through in between. */
const STEP = 500;
/** How many events are looked at for them at a time, so that whoever replays can be interrupted. */
const REACH = 20_000;
/**
 * How long what is put back waits for the rest, if whoever replays ends before it is let go. Enough for some ten million
 * events; of more, the first run while the last are put back, and are told late where a newer one was not put back yet.
 */
const HOLD_MS = 15 * 60_000;

interface Connections {
  readonly write: Calls<typeof writes>;
  readonly read: Calls<typeof reads>;
  readonly clock: Clock;
}

/**
 * Replays what matches in two rounds: all of it is put back and held, then all of it is made ready, both in the order of
 * event times. An older event so never runs while a newer one of its resource still counts as handled from before.
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
    for await (const ids of puttingBack(connections, holder, filter, options)) {
      held += ids.length;
      await options.onStep?.(ids);
    }
    await options.onHeld?.();
  } finally {
    // Also of what was cut short: the sooner it runs, the fewer newer ones run before it.
    for (let from = 0; from < held; from += STEP) {
      await connections.write.call('letGo', { holder, from, count: STEP });
      await options.onReady?.(Math.min(from + STEP, held));
    }
  }
  return held;
}

/**
 * What matches is looked up on the reading connection: on the writing one, a filter that matches little would go through
 * millions of rows while acks wait.
 */
async function* puttingBack(
  { write, read }: Connections,
  holder: Holder,
  filter: EventFilter,
  { resetSteps = false, signal, after }: ReplayOptions,
): AsyncGenerator<readonly EventId[]> {
  const upTo = await write.call('lastSeq', undefined);
  const { status } = filter;
  let held = 0;
  let before = after;
  do {
    if (signal?.aborted) return;
    const stretch = { before, reach: REACH, limit: STEP };
    const { ids, next } = await read.call('replayable', { filter, stretch, upTo });
    if (ids.length > 0) {
      const putBack = await write.call('putBack', { holder, ids, status, resetSteps, held });
      held += putBack.length;
      yield putBack;
    }
    before = next;
  } while (before !== undefined);
}
