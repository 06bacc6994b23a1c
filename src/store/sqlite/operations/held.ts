import type { Database } from 'better-sqlite3';
import type { Claim } from '../../event-store.ts';
import { seqFinder } from './events-table.ts';

/** What tells a claim from every other. */
export type ClaimKey = Pick<Claim, 'id' | 'resource' | 'starts' | 'replays'>;

/** The lease that a claim still has. */
export interface HeldLease {
  readonly seq: number;
  readonly startedAt: number;
}

/** Finds the lease of a claim; undefined if the claim was settled, released or taken over. */
export function heldFinder(db: Database): (claim: ClaimKey, owner: string) => HeldLease | undefined {
  const seqOf = seqFinder(db);
  const queueOf = db.prepare<[string], { event: number | null; owner: string | null; started_at: number }>(
    'SELECT event, owner, started_at FROM lanes WHERE resource = ?',
  );
  const isCurrent = db
    .prepare<[number, number, number], number>(
      'SELECT 1 FROM events WHERE seq = ? AND attempts + interrupted = ? AND replays = ?',
    )
    .pluck();
  return ({ id, resource, starts, replays }, owner) => {
    const seq = seqOf(id);
    const queue = queueOf.get(resource);
    if (seq === undefined || queue?.event !== seq || queue.owner !== owner) return undefined;
    // The owner may have lost the lease, and hold the event again in a later start.
    return isCurrent.get(seq, starts, replays) ? { seq, startedAt: queue.started_at } : undefined;
  };
}
