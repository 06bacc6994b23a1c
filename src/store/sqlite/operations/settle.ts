import type { Database } from 'better-sqlite3';
import type { AttemptOutcome, Claim, Settlement } from '../../event-store.ts';
import { seqFinder } from './events-table.ts';
import { resourceQueues } from './resource-queues.ts';

interface Input {
  readonly claim: Pick<Claim, 'id' | 'resource' | 'starts' | 'replays'>;
  readonly owner: string;
  readonly settlement: Settlement;
  readonly now: number;
}

/** Ends the claim of an event, if its lease is still the owner's. */
export function settle(db: Database): (input: Input) => boolean {
  const queues = resourceQueues(db);
  const seqOf = seqFinder(db);
  const writeAttempt = attemptWriter(db);
  const queueOf = db.prepare<[string], { event: number | null; owner: string | null; started_at: number }>(
    'SELECT event, owner, started_at FROM lanes WHERE resource = ?',
  );
  const isCurrent = db
    .prepare<[number, number, number], number>(
      'SELECT 1 FROM events WHERE seq = ? AND attempts + interrupted = ? AND replays = ?',
    )
    .pluck();
  const end = db.prepare(
    `UPDATE events SET status = :status, next_attempt_at = :nextAttemptAt, last_error = :error, handled_at = :handledAt
     WHERE seq = :seq`,
  );
  const release = db.prepare(
    `UPDATE events SET status = 'pending', attempts = attempts - 1, interrupted = interrupted + 1 WHERE seq = ?`,
  );
  return ({ claim: { id, resource, starts, replays }, owner, settlement, now }) => {
    const seq = seqOf(id);
    const queue = queueOf.get(resource);
    if (seq === undefined || queue?.event !== seq || queue.owner !== owner) return false;
    // The owner may have lost the lease, and hold the event again in a later start.
    if (!isCurrent.get(seq, starts, replays)) return false;
    const { status, outcome, error = null, nextAttemptAt = null } = settlement;
    const handledAt = status === 'handled' || status === 'skipped' ? now : null;
    writeAttempt({ seq, replays, starts, startedAt: queue.started_at, now, outcome, error });
    if (settlement.isUncounted) release.run(seq);
    else end.run({ seq, status, error, nextAttemptAt, handledAt });
    queues.free(resource);
    return true;
  };
}

export interface EndedStart {
  readonly seq: number;
  readonly replays: number;
  readonly starts: number;
  readonly startedAt: number;
  readonly now: number;
  readonly outcome: AttemptOutcome;
  readonly error: string | null;
}

/**
 * Records the end of the current start of an event. No two have the same number, unless a program of a former version
 * works on the same database: it gives the number of a released start out again.
 */
export function attemptWriter(db: Database): (start: EndedStart) => void {
  const write = db.prepare(
    `INSERT OR REPLACE INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error)
     VALUES (:seq, :replays, :starts, :startedAt, max(0, :now - :startedAt), :outcome, :error)`,
  );
  return (start) => void write.run(start);
}
