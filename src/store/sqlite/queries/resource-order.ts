import { TAKEN } from '../tables/events-view.ts';

/** One way along the events of a resource, by event time and then by arrival. */
export interface Direction {
  readonly order: 'ASC' | 'DESC';
  /** compares with the event that it starts from */
  readonly from: '<' | '<=' | '>' | '>=';
}

/**
 * The numbers of a resource's events in the order of their event times, as `:resource`, `:time`, `:seq` and `:reach`
 * say: what has ended, what is ready or runs, what waits, and what is in the ledger only. One index over all events would
 * cost every ack a write to a page that is not in memory.
 */
export function resourceOrder({ order, from }: Direction): string {
  const sorted = `ORDER BY event_time ${order}, seq ${order} LIMIT :reach`;
  const arm = (table: string, event: string, where: string) => `
    SELECT * FROM (SELECT ${event} AS seq, event_time FROM ${table}
      WHERE resource = :resource AND ${where} AND (event_time, ${event}) ${from} (:time, :seq)
      ORDER BY event_time ${order}, ${event} ${order} LIMIT :reach)`;
  return `
    SELECT seq FROM (
      ${arm('finished', 'event', 'TRUE')}
      UNION ALL ${arm('work INDEXED BY work_ready', 'event', 'next_attempt_at IS NULL')}
      UNION ALL ${arm('work INDEXED BY work_put_off', 'event', 'next_attempt_at IS NOT NULL')}
      UNION ALL ${arm('ledger NOT INDEXED', 'seq', `seq > ${TAKEN}`)})
    ${sorted}`;
}
