/** One way along the events of a resource, by event time and then by arrival. */
export interface Direction {
  readonly order: 'ASC' | 'DESC';
  /** compares with the event that it starts from */
  readonly from: '<' | '<=' | '>' | '>=';
}

/**
 * The numbers of a resource's events in the order of their event times, as `:resource`, `:time`, `:seq` and `:reach`
 * say. Each status has an index of its own, which an ack does not write to, so this merges them. One index over all
 * events would cost every ack a write to a page that is not in memory.
 */
export function resourceOrder({ order, from }: Direction): string {
  const start = `(event_time, seq) ${from} (:time, :seq)`;
  const sorted = `ORDER BY event_time ${order}, seq ${order} LIMIT :reach`;
  const arm = (index: string, where: string) => `
    SELECT * FROM (SELECT seq, event_time FROM events INDEXED BY ${index}
      WHERE resource = :resource AND ${where} AND ${start} ${sorted})`;
  return `
    SELECT seq FROM (
      ${arm('events_handled', "status = 'handled'")}
      UNION ALL ${arm('events_given_up', "status IN ('skipped', 'dead')")}
      UNION ALL ${arm('events_ready', "status = 'pending' AND next_attempt_at IS NULL")}
      UNION ALL ${arm('events_put_off', 'next_attempt_at IS NOT NULL')}
      UNION ALL SELECT seq, event_time FROM events
        WHERE seq = (SELECT event FROM lanes WHERE resource = :resource) AND status = 'running' AND ${start})
    ${sorted}`;
}
