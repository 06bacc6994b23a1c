import { UNTAKEN } from './filter.ts';

/** One way along the events of a resource, by event time and then by arrival; members are parts of the statement. */
interface Along {
  readonly resource: string;
  /** the event time and the number of the event that it starts from */
  readonly place: string;
  readonly order: 'ASC' | 'DESC';
  readonly limit: string;
}

/**
 * The events of a resource in the order of their event times: what has ended, what is ready or runs, what waits, and what is
 * in the ledger only. One index over all events would cost every ack a write to a page that is not in memory.
 */
export function resourceOrder({ resource, place, order, limit }: Along): string {
  const from = order === 'ASC' ? '>' : '<';
  const arm = (table: string, where: string) => `(
    SELECT event, event_time FROM ${table}
    WHERE resource = ${resource} AND ${where} AND (event_time, event) ${from} ${place}
    ORDER BY event_time ${order}, event ${order} LIMIT ${limit})`;
  return `
    ${arm('hookkit.results', 'TRUE')}
    UNION ALL ${arm('hookkit.work', 'next_attempt_at IS NULL')}
    UNION ALL ${arm('hookkit.work', 'next_attempt_at IS NOT NULL')}
    UNION ALL ${arm(UNTAKEN, 'TRUE')}
    ORDER BY event_time ${order}, event ${order} LIMIT ${limit}`;
}
