import type { AttemptRow, ChannelRow, HistoryTables, ResultRow } from '../../driver.ts';
import { columns, fromText, type Session, toText, toTextOrNull } from '../session.ts';
import { kindKey, progress } from './rows.ts';

export function historyTables(session: Session): HistoryTables {
  return {
    async addAttempts(attempts) {
      if (attempts.length === 0) return;
      await session.rows(
        `INSERT INTO hookkit.attempts (event, replay, attempt, started_at, duration_ms, outcome, error, instance)
         SELECT * FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
           $8::text[])
         ON CONFLICT DO NOTHING`,
        columns<AttemptRow>(
          attempts,
          ({ event }) => event,
          ({ replay }) => replay,
          ({ attempt }) => attempt,
          ({ startedAt }) => Math.round(startedAt),
          ({ durationMs }) => Math.round(durationMs),
          ({ outcome }) => outcome,
          ({ error }) => toTextOrNull(error),
          ({ instance }) => toTextOrNull(instance),
        ),
      );
    },
    async addResults(results) {
      await session.rows(
        `INSERT INTO hookkit.results
           (event, resource, event_time, status, attempts, interrupted, replays, late, handled_at, last_error)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::integer[], $6::integer[],
           $7::integer[], $8::boolean[], $9::bigint[], $10::text[])`,
        columns<ResultRow>(
          results,
          ({ event }) => event,
          ({ resource }) => toText(resource),
          ({ eventTime }) => eventTime,
          ({ status }) => status,
          ...progress,
          ({ handledAt }) => handledAt,
          ({ lastError }) => toTextOrNull(lastError),
        ),
      );
    },
    async removeResults(events) {
      await session.rows('DELETE FROM hookkit.results WHERE event = ANY($1)', [
        events.map(({ event }) => event),
      ]);
    },
    async newerHandled(events) {
      const rows = await session.rows<{ newer: boolean }>(
        `SELECT EXISTS (SELECT FROM hookkit.results WHERE results.resource = asked.resource
           AND results.event_time > asked.event_time AND status = 'handled') AS newer
         FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS asked (resource, event_time, place) ORDER BY place`,
        columns(
          events,
          ({ resource }) => toText(resource),
          ({ eventTime }) => eventTime,
        ),
      );
      return rows.map(({ newer }) => newer);
    },
    async addKinds(rows) {
      await session.rows(
        `INSERT INTO hookkit.kinds (kind, event) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING`,
        columns(
          rows,
          ({ kind }) => kindKey(toText(kind)),
          ({ event }) => event,
        ),
      );
    },
    async addTallies(changes) {
      await session.rows(
        'INSERT INTO hookkit.tallies (kind, status, events) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])',
        columns(
          changes,
          ({ kind }) => toText(kind),
          ({ status }) => status,
          ({ by }) => by,
        ),
      );
    },
    async channels(resources) {
      const rows = await session.rows<ChannelColumns>(
        `SELECT channels.resource, channels.site_id, state, since, event, ledger.received_at
         FROM hookkit.channels CROSS JOIN LATERAL (
           SELECT received_at FROM hookkit.ledger WHERE ledger.event = channels.event OFFSET 0) AS ledger
         WHERE channels.resource = ANY($1)`,
        [resources.map(toText)],
      );
      const known = new Map(rows.map((row) => [row.resource, row]));
      return resources.map((resource) => {
        const row = known.get(toText(resource));
        return row && channelRow(row);
      });
    },
    async setChannels(channels) {
      await session.rows(
        `INSERT INTO hookkit.channels (resource, site_id, state, since, event)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
         ON CONFLICT (resource) DO UPDATE SET site_id = excluded.site_id, state = excluded.state,
           since = excluded.since, event = excluded.event`,
        columns(
          channels,
          ({ resource }) => toText(resource),
          ({ siteId }) => toText(siteId),
          ({ state }) => state,
          ({ since }) => since,
          ({ event }) => event,
        ),
      );
    },
  };
}

interface ChannelColumns {
  resource: string;
  site_id: string;
  state: ChannelRow['state'];
  since: number;
  event: number;
  received_at: number;
}

function channelRow(row: ChannelColumns): ChannelRow {
  return {
    resource: fromText(row.resource),
    siteId: fromText(row.site_id),
    state: row.state,
    since: row.since,
    event: row.event,
    receivedAt: row.received_at,
  };
}
