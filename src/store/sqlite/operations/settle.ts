import type { Database } from 'better-sqlite3';
import type { Claim, Settlement } from '../../event-store.ts';
import { attemptWriter } from './attempts.ts';
import { lanesOf } from './resource-queues.ts';
import { seqFinder } from './seq.ts';

interface Input {
  readonly claim: Pick<Claim, 'id' | 'resource' | 'attempts' | 'replays'>;
  readonly owner: string;
  readonly settlement: Settlement;
  readonly now: number;
}

/** Ends the claim of an event, if its lease is still the owner's. */
export function settle(db: Database): (input: Input) => boolean {
  const lanes = lanesOf(db);
  const seqOf = seqFinder(db);
  const writeAttempt = attemptWriter(db);
  const laneOf = db.prepare<[string], { event: number | null; owner: string | null; started_at: number }>(
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
    const lane = laneOf.get(resource);
    if (seq === undefined || lane?.event !== seq || lane.owner !== owner) return false;
    // An owner that lost it may hold it again, in a later attempt.
    if (!isCurrent.get(seq, attempts, replays)) return false;
    const { status, outcome, error = null, nextAttemptAt = null } = settlement;
    const handledAt = status === 'handled' || status === 'skipped' ? now : null;
    writeAttempt({ seq, replays, attempts, startedAt: lane.started_at, now, outcome, error });
    end.run({ seq, status, error, nextAttemptAt, handledAt });
    lanes.free(resource);
    return true;
  };
}
