import type { Database } from 'better-sqlite3';
import type { Settlement } from '../../event-store.ts';
import { attemptWriter } from './attempts.ts';
import { lanesOf } from './lanes.ts';
import { seqFinder } from './seq.ts';

interface Input {
  readonly id: string;
  readonly resource: string;
  readonly owner: string;
  readonly settlement: Settlement;
  readonly now: number;
}

/** Ends the claim of an event, if its lease is still the owner's. */
export function settle(db: Database): (input: Input) => boolean {
  const lanes = lanesOf(db);
  const seqOf = seqFinder(db);
  const writeAttempt = attemptWriter(db);
  const leased = db
    .prepare<[string, string, number | undefined], number>(
      'SELECT started_at FROM lanes WHERE resource = ? AND owner = ? AND event = ?',
    )
    .pluck();
  const end = db.prepare(
    `UPDATE events SET status = :status, next_attempt_at = :nextAttemptAt, last_error = :error, handled_at = :handledAt
     WHERE seq = :seq`,
  );
  return ({ id, resource, owner, settlement, now }) => {
    const seq = seqOf(id);
    const startedAt = leased.get(resource, owner, seq);
    if (seq === undefined || startedAt === undefined) return false;
    const { status, outcome, error = null, nextAttemptAt = null } = settlement;
    const handledAt = status === 'handled' || status === 'skipped' ? now : null;
    writeAttempt({ seq, startedAt, now, outcome, error });
    end.run({ seq, status, error, nextAttemptAt, handledAt });
    lanes.free(resource);
    return true;
  };
}
