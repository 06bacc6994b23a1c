import type { EventFilter, EventStore, StoredEvent } from '../store/event-store.ts';
import { pagesOf } from './database-source.ts';

/** What a replay to the handlers would do. */
export interface Preview {
  readonly replayable: number;
  /** already waiting for a handler, or in one */
  readonly underWay: number;
  /** without a body any more */
  readonly pruned: number;
  readonly first: readonly StoredEvent[];
}

const SHOWN = 5;

/** Goes through what a filter means without changing anything. */
export async function preview(store: EventStore, filter: EventFilter): Promise<Preview> {
  const found = { replayable: 0, underWay: 0, pruned: 0 };
  const first: StoredEvent[] = [];
  for await (const page of pagesOf(store, filter)) {
    for (const event of page) {
      const standing = standingOf(event);
      found[standing]++;
      if (standing === 'replayable' && first.length < SHOWN) first.push(event);
    }
  }
  return { ...found, first };
}

/** Whether a replay takes an event. */
export function standingOf({
  status,
  nextAttemptAt,
  body,
}: StoredEvent): 'replayable' | 'underWay' | 'pruned' {
  const isUnderWay = status === 'running' || (status === 'pending' && nextAttemptAt === undefined);
  if (isUnderWay) return 'underWay';
  return body === undefined ? 'pruned' : 'replayable';
}
