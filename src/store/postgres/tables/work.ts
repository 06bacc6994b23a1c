import type { ReadyEvent, WorkChange, WorkRow, WorkTables } from '../../driver.ts';
import { eventId } from '../../event-id.ts';
import { inOrder } from '../../semantics/in-order.ts';
import { TIME_OF_SERVER } from '../database-clock.ts';
import type { FrontierSession } from '../frontier.ts';
import { REPLAY_ALONE } from '../locks.ts';
import {
  columns,
  fromText,
  fromTextOrNull,
  placeOf,
  type Session,
  toText,
  toTextOrNull,
} from '../session.ts';
import { progress, receivedAt, type WorkColumns, workOf } from './rows.ts';

type ReadyColumns = WorkColumns & {
  readonly webhook_id: string;
  readonly site_id: string;
  readonly digest: string;
  readonly received_at: number;
  readonly body: string | null;
  readonly repeats: number | null;
  readonly last_at: number | null;
  readonly has_more: boolean;
};

const OLDEST_READY = `
  SELECT work.*, ledger.webhook_id, ledger.site_id, encode(ledger.digest, 'hex') AS digest, ledger.received_at, (
      SELECT body FROM hookkit.bodies
      WHERE bodies.event = ledger.event AND bodies.received_at = ledger.received_at) AS body,
    repeats.repeats, repeats.last_at, EXISTS (
      SELECT FROM hookkit.work AS more
      WHERE more.resource = asked.resource AND more.next_attempt_at IS NULL AND more.event <> work.event) AS has_more
  FROM unnest($1::text[]) AS asked (resource)
  CROSS JOIN LATERAL (
    SELECT * FROM hookkit.work WHERE work.resource = asked.resource AND next_attempt_at IS NULL
    ORDER BY event_time, event LIMIT 1) AS work
  CROSS JOIN LATERAL (SELECT * FROM hookkit.ledger WHERE ledger.event = work.event OFFSET 0) AS ledger
  LEFT JOIN LATERAL (
    SELECT repeats, last_at FROM hookkit.repeats WHERE repeats.event = ledger.event OFFSET 0) AS repeats ON true`;

function readyEvent(row: ReadyColumns): ReadyEvent {
  return {
    ...workOf(row),
    id: eventId(row.event_time, row.digest),
    digest: row.digest,
    webhookId: fromText(row.webhook_id),
    siteId: fromText(row.site_id),
    body: fromTextOrNull(row.body),
    receivedAt: row.received_at,
    deliveries: 1 + (row.repeats ?? 0),
    lastDeliveryAt: Math.max(row.received_at, row.last_at ?? 0),
    hasMore: row.has_more,
  };
}

/** The column that an opening has beside those of work. */
const RECEIVED_AT = `${receivedAt('work')} AS received_at`;

type OpeningColumns = WorkColumns & { readonly received_at: number };

const openingOf = (row: OpeningColumns) => ({ ...workOf(row), receivedAt: row.received_at });

async function countStartsOf(session: Session, events: readonly number[], late: boolean): Promise<void> {
  if (events.length === 0) return;
  await session.rows(
    `UPDATE hookkit.work SET attempts = work.attempts + 1, late = $2
     WHERE event = ANY($1)`,
    [events, late],
  );
}

export function workTables(
  session: Session,
  frontier: FrontierSession,
  onTime: (there: number) => void,
): WorkTables {
  return {
    async addWork(rows) {
      await session.rows(
        `INSERT INTO hookkit.work (event, kind, resource, event_time, attempts, interrupted, replays, late,
           next_attempt_at, last_error)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::integer[], $6::integer[],
           $7::integer[], $8::boolean[], $9::bigint[], $10::text[])`,
        columns<WorkRow>(
          rows,
          ({ event }) => event,
          ({ kind }) => toText(kind),
          ({ resource }) => toText(resource),
          ({ eventTime }) => eventTime,
          ...progress,
          ({ nextAttemptAt }) => nextAttemptAt,
          ({ lastError }) => toTextOrNull(lastError),
        ),
      );
    },
    async changeWork(changes) {
      await session.rows(
        `UPDATE hookkit.work SET attempts = new.attempts, interrupted = new.interrupted, replays = new.replays,
           late = new.late, next_attempt_at = new.next_attempt_at, last_error = new.last_error
         FROM (SELECT given.*, ${WORK_OF('given')} AS place
           FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::boolean[], $6::bigint[], $7::text[])
             AS given (event, attempts, interrupted, replays, late, next_attempt_at, last_error) OFFSET 0) AS new
         WHERE work.ctid = new.place`,
        columns<WorkChange>(
          changes,
          ({ event }) => event,
          ...progress,
          ({ nextAttemptAt }) => nextAttemptAt,
          ({ lastError }) => toTextOrNull(lastError),
        ),
      );
    },
    // Of most events no newer one was handled. To join both kinds with work, by place, took twice as long as a statement for each.
    async countStarts(starts) {
      const ofLate = (wanted: boolean) =>
        starts.flatMap(({ event, late }) => (late === wanted ? [event] : []));
      await inOrder(...[false, true].map((late) => countStartsOf(session, ofLate(late), late)));
    },
    async removeWork(events) {
      await session.rows('DELETE FROM hookkit.work WHERE event = ANY($1)', [events]);
    },
    // Another process that wakes the same ones, or resets them for a replay, keeps them.
    async due(now, limit) {
      const rows = await session.rows<OpeningColumns>(
        `SELECT *, ${RECEIVED_AT} FROM hookkit.work WHERE next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT $2
         FOR UPDATE SKIP LOCKED`,
        [now, limit],
      );
      return rows.map(openingOf);
    },
    async makeReady(events) {
      await session.rows('UPDATE hookkit.work SET next_attempt_at = NULL WHERE event = ANY($1)', [events]);
    },
    async oldestReady(resources) {
      const asked = resources.map(toText);
      const rows = await session.rows<ReadyColumns>(OLDEST_READY, [asked]);
      const ready = new Map(rows.map((row) => [row.resource, readyEvent(row)]));
      const missing = asked.filter((resource) => !ready.has(resource));
      // The database was changed by hand: what is not in the ledger cannot be handled any more.
      if (missing.length > 0) {
        await session.rows(
          `DELETE FROM hookkit.work WHERE resource = ANY($1) AND next_attempt_at IS NULL
           AND NOT EXISTS (SELECT FROM hookkit.ledger WHERE ledger.event = work.event)`,
          [missing],
        );
      }
      return asked.map((resource) => ready.get(resource));
    },
    async nextDue(now) {
      // By order: for `min`, PostgreSQL 14 and 15 go through a table that they believe empty.
      const [row] = await session.rows<{ due: number | null; gaps: boolean; there: number }>(
        `SELECT least((SELECT next_attempt_at FROM hookkit.work WHERE next_attempt_at IS NOT NULL ORDER BY next_attempt_at LIMIT 1),
           (SELECT lease_until FROM hookkit.lanes
            WHERE event IS NOT NULL AND lease_until > $1 AND lease_until <= $2 ORDER BY lease_until LIMIT 1)) AS due,
           EXISTS (SELECT FROM hookkit.gaps) AS gaps, ${TIME_OF_SERVER} AS there`,
        [now, placeOf(frontier.lookForDue(now))],
      );
      if (row) onTime(row.there);
      const due = row?.due ?? undefined;
      // Of what is committed late nobody tells.
      return row?.gaps ? Math.min(due ?? Infinity, now + LATE_MS) : due;
    },
    async waitingWith(note, from, until) {
      await session.rows(REPLAY_ALONE);
      const rows = await session.rows<OpeningColumns>(
        `SELECT *, ${RECEIVED_AT} FROM hookkit.work
         WHERE next_attempt_at >= $1 AND next_attempt_at < $2 AND last_error = $3 AND attempts = 0
         ORDER BY next_attempt_at FOR UPDATE`,
        [from, until, toText(note)],
      );
      return rows.map(openingOf);
    },
  };
}

/** Where the event is in work that a row names. Nobody else changes it: its lane is locked, or itself. */
const WORK_OF = (row: string) => `(SELECT work.ctid FROM hookkit.work WHERE work.event = ${row}.event)`;

/** How soon it is looked again for what is committed late. */
const LATE_MS = 500;
