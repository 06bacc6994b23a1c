import type { Replayable, ResetTables } from '../../driver.ts';
import { REPLAY_ALONE } from '../locks.ts';
import { EVENT_THERE, namedBy, rowsOf } from '../queries/filter.ts';
import type { Session } from '../session.ts';
import { type Identity, idOf, type WorkColumns, workOf } from './rows.ts';

/** The events that a replay resets: finished or waiting for a later attempt, and not pruned. */
export const REPLAYABLE = `body IS NOT NULL AND (status IN ('handled', 'skipped', 'dead') OR next_attempt_at IS NOT NULL)`;

export function resetTables(session: Session): ResetTables {
  const placesOf = async (ids: readonly string[]) => {
    const rows = await rowsOf<{ event: number }>(
      session,
      (params) => `SELECT event FROM (${namedBy(ids, params)}) AS named`,
    );
    return rows.map(({ event }) => event);
  };
  return {
    async replayable({ ids = [], status }) {
      await session.rows(REPLAY_ALONE);
      const events = await placesOf(ids);
      // Locked first, then read: what somebody else has just changed is seen as it is now.
      await session.rows(
        // Not as the condition of an index: PostgreSQL 14 and 15 would go through all of it, where they believe the table empty.
        'SELECT FROM hookkit.work WHERE event = ANY($1) AND coalesce(next_attempt_at, -1) >= 0 ORDER BY event FOR UPDATE',
        [events],
      );
      await session.rows('SELECT FROM hookkit.results WHERE event = ANY($1) ORDER BY event FOR UPDATE', [
        events,
      ]);
      const rows = await session.rows<WorkColumns & Identity & { status: Replayable['status'] }>(
        `SELECT event, kind, resource, event_time, attempts, interrupted, replays, late, next_attempt_at, last_error,
           digest, status
         FROM (SELECT events.* FROM unnest($1::bigint[]) AS place (event) ${EVENT_THERE}) AS events
         WHERE ($2::text IS NULL OR status = $2) AND ${REPLAYABLE}
         ORDER BY event_time, digest`,
        [events, status],
      );
      return rows.map((row) => ({ ...workOf(row), id: idOf(row), status: row.status }));
    },
    async prunable(endedBefore, limit, among) {
      const events = among && (await placesOf(among));
      const which = events ? `event = ANY($3) AND coalesce(has_body, false)` : 'has_body'; // the index of which is for all
      const rows = await session.rows<{ event: number }>(
        `SELECT event FROM hookkit.results WHERE handled_at < $1 AND ${which}
         ORDER BY handled_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [endedBefore, limit, ...(events ? [events] : [])],
      );
      return rows.map(({ event }) => event);
    },
    async empty(events) {
      await session.rows(
        `WITH received AS MATERIALIZED (
           SELECT min(received_at) AS first, max(received_at) AS last FROM hookkit.ledger WHERE event = ANY($1))
         DELETE FROM hookkit.bodies
         WHERE event = ANY($1) AND received_at BETWEEN (SELECT first FROM received) AND (SELECT last FROM received)`,
        [events],
      );
      await session.rows(
        'UPDATE hookkit.results SET last_error = NULL, has_body = false WHERE event = ANY($1)',
        [events],
      );
      await session.rows('DELETE FROM hookkit.attempts WHERE event = ANY($1)', [events]);
      await session.rows('DELETE FROM hookkit.steps WHERE event = ANY($1)', [events]);
    },
  };
}
