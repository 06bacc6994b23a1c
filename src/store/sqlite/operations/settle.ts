import type { Database } from 'better-sqlite3';
import type { AttemptOutcome, Settlement } from '../../event-store.ts';
import { type ClaimKey, heldFinder } from './held.ts';
import { resourceQueues } from './resource-queues.ts';
import { stateWriter } from './state-rows.ts';

interface Input {
  readonly claim: ClaimKey;
  readonly owner: string;
  readonly settlement: Settlement;
  readonly now: number;
}

/** Ends the claim of an event, if its lease is still the owner's. */
export function settle(db: Database): (input: Input) => boolean {
  const queues = resourceQueues(db);
  const held = heldFinder(db);
  const writeAttempt = attemptWriter(db);
  const writeState = stateWriter(db);
  const end = db.prepare(
    `UPDATE events SET status = :status, next_attempt_at = :nextAttemptAt, last_error = :error, handled_at = :handledAt
     WHERE seq = :seq`,
  );
  const release = db.prepare(
    `UPDATE events SET status = 'pending', attempts = attempts - 1, interrupted = interrupted + 1 WHERE seq = ?`,
  );
  return ({ claim, owner, settlement, now }) => {
    const lease = held(claim, owner);
    if (!lease) return false;
    const { seq, startedAt } = lease;
    const { resource, starts, replays } = claim;
    const { status, outcome, error = null, nextAttemptAt = null } = settlement;
    const handledAt = status === 'handled' || status === 'skipped' ? now : null;
    writeAttempt({ seq, replays, starts, startedAt, now, outcome, error });
    if (settlement.isUncounted) release.run(seq);
    else end.run({ seq, status, error, nextAttemptAt, handledAt });
    writeState(resource, settlement.state ?? []);
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
