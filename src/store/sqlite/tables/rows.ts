import type { Progress, WorkRow } from '../../driver.ts';
import { eventId } from '../../event-id.ts';

/** A row of `work`. */
export interface WorkColumns {
  event: number;
  kind: string;
  resource: string;
  event_time: number;
  attempts: number;
  interrupted: number;
  replays: number;
  late: 0 | 1 | null;
  next_attempt_at: number | null;
  last_error: string | null;
}

export function workOf(row: WorkColumns): WorkRow {
  return {
    event: row.event,
    kind: row.kind,
    resource: row.resource,
    eventTime: row.event_time,
    attempts: row.attempts,
    interrupted: row.interrupted,
    replays: row.replays,
    late: row.late === null ? undefined : row.late === 1,
    nextAttemptAt: row.next_attempt_at ?? undefined,
    lastError: row.last_error ?? undefined,
  };
}

/** As SQLite stores it. */
export function flag(value: Progress['late']): 0 | 1 | null {
  if (value === undefined) return null;
  return value ? 1 : 0;
}

export function idOf(row: { readonly event_time: number; readonly digest: Buffer }) {
  return eventId(row.event_time, row.digest);
}
