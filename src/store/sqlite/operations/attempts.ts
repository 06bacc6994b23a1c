import type { Database } from 'better-sqlite3';
import type { AttemptOutcome } from '../../event-store.ts';

export interface EndedAttempt {
  readonly seq: number;
  readonly replays: number;
  readonly attempts: number;
  readonly startedAt: number;
  readonly now: number;
  readonly outcome: AttemptOutcome;
  readonly error: string | null;
}

/** Writes down how the current attempt of an event ended. An attempt that was given back is written again. */
export function attemptWriter(db: Database): (attempt: EndedAttempt) => void {
  const write = db.prepare(
    `INSERT OR REPLACE INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error)
     VALUES (:seq, :replays, :attempts, :startedAt, max(0, :now - :startedAt), :outcome, :error)`,
  );
  return (attempt) => void write.run(attempt);
}
