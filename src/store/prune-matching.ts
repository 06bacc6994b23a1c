import type { Clock } from '../base/clock.ts';
import { pauseUntilAborted } from '../base/pause.ts';
import { pagesOf } from './event-pages.ts';
import type { EventFilter, EventStore, Status, StoredEvent } from './event-store.ts';
import { pruningLimit } from './pruning-limit.ts';

/** The events that are pruned at all, by their status. */
export const PRUNABLE: readonly Status[] = ['handled', 'skipped'];

/** Small steps with pauses between them, so that acks do not wait. */
const STEP = 200;
const PAUSE_MS = 20;

export interface Pruning {
  readonly filter: EventFilter;
  /** prunes events that were handled or skipped longer ago than so many milliseconds, and than an hour */
  readonly olderThanMs: number;
  readonly clock: Clock;
}

/**
 * How many events `pruneMatching` would prune.
 * @throws KitError CLOCKS_DIFFER, as `pruningLimit` does
 */
export async function countPrunable(
  store: Pick<EventStore, 'clock' | 'readClock' | 'eventsAfter'>,
  { filter, olderThanMs, clock }: Pruning,
): Promise<number> {
  const handledBefore = await pruningLimit(store, clock, olderThanMs);
  let count = 0;
  for await (const page of pagesOf(store, filter)) count += page.filter(isPrunable(handledBefore)).length;
  return count;
}

export interface PruningInSteps extends Pruning {
  /** ends the pruning after the current step */
  readonly signal: AbortSignal;
  /** called after each step with how many events are pruned by then */
  readonly onStep: (pruned: number) => void;
}

/**
 * Prunes events that a filter takes, beside a server that goes on. Tells how many.
 * @throws KitError CLOCKS_DIFFER, as `pruningLimit` does
 */
export async function pruneMatching(
  store: Pick<EventStore, 'clock' | 'readClock' | 'eventsAfter' | 'prune'>,
  { filter, olderThanMs, clock, signal, onStep }: PruningInSteps,
): Promise<number> {
  const handledBefore = await pruningLimit(store, clock, olderThanMs);
  let pruned = 0;
  const step = async (ids?: readonly string[]) => {
    const count = await store.prune(handledBefore, STEP, ids);
    pruned += count;
    onStep(pruned);
    await pauseUntilAborted(clock, PAUSE_MS, signal);
    return count;
  };
  const isRestricted = Object.values(filter).some((value) => value !== undefined);
  if (isRestricted) {
    // The search reads on its own connection: on the writing one, acks would wait for it.
    for await (const page of pagesOf(store, filter)) {
      const ids = page.filter(isPrunable(handledBefore)).map(({ id }) => id);
      if (signal.aborted) break;
      if (ids.length > 0) while (!signal.aborted && (await step(ids)) >= STEP);
    }
  } else while (!signal.aborted && (await step()) >= STEP);
  return pruned;
}

function isPrunable(handledBefore: number): (event: StoredEvent) => boolean {
  return ({ status, handledAt, body }) =>
    PRUNABLE.includes(status) && body !== undefined && (handledAt ?? handledBefore) < handledBefore;
}
