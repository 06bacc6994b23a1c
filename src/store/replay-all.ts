import { randomInt } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Engine } from './engine.ts';
import type { EventFilter } from './lists/types.ts';
import { HOLD_MS, type Reset } from './operations/wake.ts';
import type { Replayed, ReplayOptions } from './stored.ts';

/** How many events one commit resets or makes ready, so that acks come through in between. */
const STEP = 500;

interface Replay extends ReplayOptions {
  readonly filter: EventFilter;
}

/**
 * Replays the events that match in two rounds: it resets and holds them all, then it makes them all ready in the order of event times. So
 * an older event never runs while a newer one of its resource still counts as handled. Between the rounds the places of all events are in
 * memory.
 */
export async function replayAll(engine: Engine, clock: Clock, replay: Replay): Promise<Replayed> {
  const { filter, resetSteps = false, after, onStep, onReady, signal } = replay;
  const upTo = await engine.read('lastSeq', {});
  const until = clock.now() + HOLD_MS + randomInt(60_000); // two replays of one moment keep apart
  const held: Omit<Reset, 'id'>[] = [];
  let running = 0;
  try {
    for (let from = after, isFirst = true; isFirst || from !== undefined; isFirst = false) {
      if (signal?.aborted) break;
      const stretch = { after: from, limit: STEP };
      const { events, next } = await engine.read('search', { filter, stretch, order: 'oldest', upTo });
      from = next;
      if (events.length === 0) continue;
      const seqs = events.map(({ seq }) => seq);
      const reset = await engine.write('reset', { seqs, status: filter.status, resetSteps, until });
      running += reset.running;
      for (const { id: _, ...event } of reset.events) held.push(event);
      await onStep?.(reset.events.map(({ id }) => id));
    }
  } finally {
    // Also after an interruption: the sooner these events run, the fewer newer ones run before them.
    held.sort((one, other) => one.eventTime - other.eventTime || one.seq - other.seq);
    for (let at = 0; at < held.length; at += STEP) {
      await engine.write('release', { events: held.slice(at, at + STEP), until });
      await onReady?.(Math.min(at + STEP, held.length));
    }
  }
  return { replayed: held.length, running };
}
