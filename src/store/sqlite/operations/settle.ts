import type { Database } from 'better-sqlite3';
import type { AttemptOutcome, Claim, Settlement } from '../../event-store.ts';
import { seqFinder } from './events-table.ts';
import { resourceQueues } from './resource-queues.ts';

interface Input {
  readonly claim: Pick<Claim, 'id' | 'resource' | 'attempts' | 'replays'>;
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
      'SELECT 1 FROM events WHERE seq = ? AND attempts = ? AND replays = ?',
    )
    .pluck();
  const end = db.prepare(
    `UPDATE events SET status = :status, next_attempt_at = :nextAttemptAt, last_error = :error, handled_at = :handledAt
     WHERE seq = :seq`,
  );
  return ({ claim: { id, resource, attempts, replays }, owner, settlement, now }) => {
    const seq = seqOf(id);
    const queue = queueOf.get(resource);
    if (seq === undefined || queue?.event !== seq || queue.owner !== owner) return false;
    // The owner may have lost the lease, and hold the event again in a later attempt.
    if (!isCurrent.get(seq, attempts, replays)) return false;
    const { status, outcome, error = null, nextAttemptAt = null } = settlement;
    const handledAt = status === 'handled' || status === 'skipped' ? now : null;
    writeAttempt({ seq, replays, attempts, startedAt: queue.started_at, now, outcome, error });
    end.run({ seq, status, error, nextAttemptAt, handledAt });
    queues.free(resource);
    return true;
  };
}

export interface EndedAttempt {
  readonly seq: number;
  readonly replays: number;
  readonly attempts: number;
  readonly startedAt: number;
  readonly now: number;
  readonly outcome: AttemptOutcome;
  readonly error: string | null;
}

/** Records the end of the current attempt of an event. A released attempt is recorded again at its next end. */
export function attemptWriter(db: Database): (attempt: EndedAttempt) => void {
  const write = db.prepare(
    `INSERT OR REPLACE INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error)
     VALUES (:seq, :replays, :attempts, :startedAt, max(0, :now - :startedAt), :outcome, :error)`,
  );
  return (attempt) => void write.run(attempt);
}
