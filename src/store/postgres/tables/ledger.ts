import type { Entry, LedgerRow, LedgerTables } from '../../driver.ts';
import { parseEventId } from '../../event-id.ts';
import { inOrder } from '../../semantics/in-order.ts';
import { TAKE_ALONE } from '../locks.ts';
import { LAST_PLACE, TAKEN } from '../queries/filter.ts';
import { settledAfter } from '../queries/settled.ts';
import { columns, fromText, type Session, toText } from '../session.ts';
import { gapsBetween, type Range, without } from './gaps.ts';

/**
 * Numbers are given in the order of arrival, and rows inserted in the order of the index: two processes that insert the same
 * events then wait for each other in one direction only. `IS TRUE` keeps what was added in a hash table: as a join, of which the
 * kind is laid down (see database.ts), each row would be compared with all.
 */
const APPEND = `
  WITH numbered AS MATERIALIZED (
    SELECT nextval('hookkit.ledger_event_seq') AS event, given.*
    FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])
      AS given (event_time, digest, kind, webhook_id, site_id, resource, received_at, body)
    WHERE NOT EXISTS (
      SELECT FROM hookkit.ledger WHERE ledger.event_time = given.event_time AND ledger.digest = given.digest OFFSET 0)
  ), added AS (
    INSERT INTO hookkit.ledger (event, event_time, digest, kind, webhook_id, site_id, resource, received_at)
    SELECT event, event_time, digest, kind, webhook_id, site_id, resource, received_at FROM numbered
    ORDER BY event_time, digest
    ON CONFLICT (event_time, digest) DO NOTHING RETURNING event, event_time, digest
  ), kept AS (
    INSERT INTO hookkit.bodies (event, received_at, body)
    SELECT event, received_at, body FROM numbered WHERE (event IN (SELECT event FROM added)) IS TRUE
  )
  SELECT event, event_time, digest FROM added`;

const KNOWN = `
  SELECT ledger.* FROM unnest($1::bigint[], $2::bytea[]) AS given (event_time, digest)
  CROSS JOIN LATERAL (
    SELECT event, event_time, digest FROM hookkit.ledger
    WHERE ledger.event_time = given.event_time AND ledger.digest = given.digest OFFSET 0) AS ledger`;

const COLUMNS = 'event, kind, site_id, resource, event_time, received_at';

interface LedgerColumns {
  event: number;
  kind: string;
  site_id: string;
  resource: string;
  event_time: number;
  received_at: number;
}

/** The transactions that may have a number and have not committed it: each holds this lock before it takes a number. */
const WRITERS = `
  SELECT virtualtransaction AS writer FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'hookkit.ledger'::regclass AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

const bytes = ({ digest }: { digest: Uint8Array }) => bytesOf(digest);

/** Appends entries of different identities. Without any it finds out whether it could: whether the role may, and the tables are not locked. */
export function appended(session: Session, entries: readonly Entry[]): Promise<IdentityColumns[]> {
  return session.rows<IdentityColumns>(
    APPEND,
    columns(
      entries,
      ({ eventTime }) => eventTime,
      bytes,
      ({ kind }) => toText(kind),
      ({ webhookId }) => toText(webhookId),
      ({ siteId }) => toText(siteId),
      ({ resource }) => toText(resource),
      ({ receivedAt }) => receivedAt,
      ({ body }) => toText(body),
    ),
  );
}

/** Whether the ledger may have something that is not in the working set yet. */
export async function hasUntaken(session: Session): Promise<boolean> {
  const [row] = await session.rows<{ some: boolean }>(
    `SELECT EXISTS (SELECT FROM hookkit.ledger WHERE event > ${TAKEN})
       OR EXISTS (SELECT FROM hookkit.gaps) AS some`,
  );
  return row?.some !== false;
}

export function ledgerTables(session: Session): LedgerTables {
  let taken = 0;
  let gaps: readonly (Range & { readonly writers: readonly string[] })[] = [];
  const writers = async () => (await session.rows<{ writer: string }>(WRITERS)).map(({ writer }) => writer);
  const setGaps = async (known: readonly Range[], ranges: typeof gaps) => {
    if (known.length > 0) {
      await session.rows('DELETE FROM hookkit.gaps WHERE event = ANY($1)', [known.map(({ event }) => event)]);
    }
    for (const { event, last, writers } of ranges)
      await session.rows('INSERT INTO hookkit.gaps VALUES ($1, $2, $3)', [event, last, writers]);
  };
  return {
    async append(entries) {
      const keys = entries.map(({ eventTime, digest }) => keyOf(eventTime, digest));
      // What comes twice at once is one event: the first of them.
      const firsts = new Map<string, Entry>();
      for (const [index, entry] of entries.entries()) {
        const key = keys[index] ?? '';
        if (!firsts.has(key)) firsts.set(key, entry);
      }
      const places = new Map<string, { readonly event: number; readonly isNew: boolean }>();
      const note = (rows: readonly IdentityColumns[], isNew: boolean) => {
        for (const { event, event_time, digest } of rows)
          places.set(keyOf(event_time, digest), { event, isNew });
      };
      note(await appended(session, [...firsts.values()]), true);
      const known = [...firsts].flatMap(([key, entry]) => (places.has(key) ? [] : entry));
      if (known.length > 0)
        note(
          await session.rows<IdentityColumns>(
            KNOWN,
            columns(known, ({ eventTime }) => eventTime, bytes),
          ),
          false,
        );
      return entries.map((entry, index) => {
        const key = keys[index] ?? '';
        const place = places.get(key);
        if (!place) throw new Error('an event is neither new nor known');
        return { event: place.event, isNew: place.isNew && firsts.get(key) === entry };
      });
    },
    async addRepeats(repeats) {
      const sums = new Map<number, { repeats: number; lastAt: number }>();
      for (const { event, repeats: more, lastAt } of repeats) {
        const sum = sums.get(event) ?? { repeats: 0, lastAt };
        sums.set(event, { repeats: sum.repeats + more, lastAt: Math.max(sum.lastAt, lastAt) });
      }
      const rows = [...sums].sort(([one], [other]) => one - other);
      await session.rows(
        `INSERT INTO hookkit.repeats (event, repeats, last_at)
         SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[])
         ON CONFLICT (event) DO UPDATE SET repeats = repeats.repeats + excluded.repeats,
           last_at = greatest(repeats.last_at, excluded.last_at)`,
        columns(
          rows,
          ([event]) => event,
          ([, { repeats: more }]) => more,
          ([, { lastAt }]) => lastAt,
        ),
      );
    },
    async untaken(limit) {
      const next = `SELECT ${COLUMNS} FROM hookkit.ledger WHERE event > ${TAKEN} ORDER BY event LIMIT $1`;
      const [, [state], rows] = await inOrder(
        session.rows(TAKE_ALONE),
        session.rows<{ taken: number; gaps: typeof gaps }>(
          `SELECT ${TAKEN} AS taken,
             (SELECT coalesce(json_agg(gaps), '[]') FROM hookkit.gaps) AS gaps`,
        ),
        session.rows<LedgerColumns>(next, [limit]),
      );
      taken = state?.taken ?? 0;
      gaps = state?.gaps ?? [];
      if (gaps.length === 0) return rows.map(ledgerRow);
      const [active, late] = await inOrder(
        // Asked before the rows are: what a transaction committed that is not among these is seen below.
        writers(),
        session.rows<LedgerColumns>(
          `SELECT late.* FROM hookkit.gaps AS gap CROSS JOIN LATERAL (
             SELECT ${COLUMNS} FROM hookkit.ledger WHERE ledger.event BETWEEN gap.event AND gap.last OFFSET 0) AS late`,
        ),
      );
      const found = late.map(({ event }) => event);
      const left = gaps
        .filter((gap) => gap.writers.some((writer) => active.includes(writer)))
        .flatMap((gap) => without(gap, found).map((range) => ({ ...range, writers: gap.writers })));
      await setGaps(gaps, left);
      return [...late, ...rows].map(ledgerRow);
    },
    async markTaken(rows) {
      const events = rows.map(({ event }) => event).filter((event) => event > taken);
      const last = events.at(-1);
      if (last === undefined) return;
      const missing = gapsBetween(taken, events);
      if (missing.length > 0) {
        const active = await writers();
        await setGaps(
          [],
          missing.map((range) => ({ ...range, writers: active })),
        );
      }
      // A new row, and the former one away by its key: one row that changes had as many versions as somebody may still see.
      const before = taken;
      taken = last;
      await inOrder(
        session.rows('INSERT INTO hookkit.taken VALUES ($1)', [last]),
        session.rows('DELETE FROM hookkit.taken WHERE up_to = $1', [before]),
      );
    },
    async placesOf(ids) {
      const parsed = ids.map(parseEventId);
      const rows = await session.rows<{ event: number | null }>(
        `SELECT (SELECT event FROM hookkit.ledger
           WHERE event_time = asked.event_time AND digest BETWEEN asked.first AND asked.last LIMIT 1) AS event
         FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS asked (event_time, first, last, place)
         ORDER BY place`,
        columns(
          parsed,
          (id) => id?.eventTime,
          (id) => id?.first,
          (id) => id?.last,
        ),
      );
      return rows.map(({ event }) => event ?? undefined);
    },
    async lastPlace() {
      const [row] = await session.rows<{ last: number | null }>(`SELECT ${LAST_PLACE} AS last`);
      return row?.last ?? 0;
    },
    async settledPlace() {
      const [row] = await session.rows<{ high: number }>(settledAfter(TAKEN, {}));
      return row?.high ?? 0;
    },
  };
}

interface IdentityColumns {
  event: number;
  event_time: number;
  digest: Buffer;
}

function keyOf(eventTime: number, digest: Uint8Array): string {
  return `${eventTime} ${bytesOf(digest).toString('latin1')}`;
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function ledgerRow(row: LedgerColumns): LedgerRow {
  return {
    event: row.event,
    kind: fromText(row.kind),
    siteId: fromText(row.site_id),
    resource: fromText(row.resource),
    eventTime: row.event_time,
    receivedAt: row.received_at,
  };
}
