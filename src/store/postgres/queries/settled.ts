import type { EventFilter } from '../../event-store.ts';
import { REACH } from '../../filters.ts';
import { NO_END, TAKEN } from './filter.ts';

/**
 * The next events in the order of their numbers, up to where that order cannot change any more: processes take numbers at
 * once and commit in another order, so that a reader which had gone past a number would never see its event. Below a gap, and
 * as far as numbers follow each other behind what was taken, every number has its event or never gets one.
 */
export function settledAfter(low: string, { ids }: EventFilter): string {
  const reach = ids ? NO_END : REACH; // ids are look-ups, and each names an event that was seen
  return `SELECT low, high, nullif(high, horizon) AS next
    FROM (SELECT ${low}::bigint AS low, ${TAKEN} AS taken OFFSET 0) AS start,
    LATERAL (SELECT coalesce(max(event), greatest(low, taken)) AS run FROM (
      SELECT event, row_number() OVER (ORDER BY event) AS number FROM (
        SELECT event FROM hookkit.ledger WHERE event > greatest(low, taken) AND event <= ${NO_END}
        ORDER BY event LIMIT ${REACH + 1}) AS behind) AS numbered
      WHERE event = greatest(low, taken) + number) AS following,
    LATERAL (SELECT ${ids ? `${NO_END}::bigint` : 'least(run, (SELECT min(event) - 1 FROM hookkit.gaps))'} AS horizon) AS safe,
    LATERAL (SELECT least(horizon, low + ${reach}) AS high) AS bottom`;
}
