import type { StoredEvent } from '../stored.ts';

/** The columns of a StoredEvent, where the events are `e` and the lanes that run them are `l`. */
export const COLUMNS = `e.seq, e.id, e.kind, e.webhook_id, e.site_id, e.resource, e.event_time, e.received_at, e.body, e.deliveries,
  e.last_delivery_at, e.attempts, e.replays, e.next_at AS next_attempt_at, e.last_error,
  CASE WHEN l.lease IS NULL THEN e.status ELSE 'running' END AS status,
  CASE WHEN l.lease IS NULL THEN e.starts ELSE e.starts + 1 END AS starts,
  CASE WHEN e.status IN ('handled', 'skipped') THEN e.ended_at END AS handled_at,
  CASE WHEN l.lease IS NULL THEN e.late ELSE coalesce(e.late, l.late, 0) END AS late`;

/** The lanes that run events. */
export const LANES = 'LEFT JOIN lanes l ON l.resource = e.resource AND l.event = e.seq';

/** A row of COLUMNS. */
export type EventRow = Omit<StoredEvent, 'late'> & { readonly late: number | undefined };

export const eventOf = ({ late, ...row }: EventRow): StoredEvent => ({
  ...row,
  late: late === undefined ? undefined : late === 1,
});
