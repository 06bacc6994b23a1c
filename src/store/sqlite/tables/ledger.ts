import type { Database } from 'better-sqlite3';
import type { LedgerRow, LedgerTables } from '../../driver.ts';
import { placeFinder, TAKEN } from './rows.ts';

export function ledgerTables(db: Database): LedgerTables {
  const insert = db.prepare(
    `INSERT INTO ledger (event_time, digest, kind, webhook_id, site_id, resource, received_at, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const known = db
    .prepare<[number, Buffer], number>('SELECT seq FROM ledger WHERE event_time = ? AND digest = ?')
    .pluck();
  const repeat = db.prepare(
    `INSERT INTO repeats (event, repeats, last_at) VALUES (:event, :repeats, :lastAt)
     ON CONFLICT (event) DO UPDATE SET repeats = repeats + excluded.repeats, last_at = max(last_at, excluded.last_at)`,
  );
  const untaken = db.prepare<[number], LedgerRow>(
    `SELECT seq AS event, kind, site_id AS siteId, resource, event_time AS eventTime, received_at AS receivedAt FROM ledger
     WHERE seq > ${TAKEN} ORDER BY seq LIMIT +?`,
  );
  const take = db.prepare("UPDATE cursors SET seq = ? WHERE name = 'taken'");
  const last = db.prepare<[], number | null>('SELECT max(seq) FROM ledger').pluck();
  const lastPlace = () => last.get() ?? 0;
  const placeOf = placeFinder(db);
  return {
    append: (entries) =>
      entries.map((entry) => {
        const { eventTime, kind, webhookId, siteId, resource, receivedAt, body } = entry;
        const digest = bytesOf(entry.digest);
        const { changes, lastInsertRowid } = insert.run(
          ...[eventTime, digest, kind, webhookId, siteId, resource, receivedAt, body],
        );
        if (changes === 1) return { event: Number(lastInsertRowid), isNew: true };
        const event = known.get(eventTime, digest);
        if (event === undefined) throw new Error('an event is neither new nor known');
        return { event, isNew: false };
      }),
    addRepeats: (repeats) => repeats.forEach((one) => void repeat.run(one)),
    untaken: (limit) => untaken.all(limit),
    markTaken(rows) {
      const row = rows.at(-1);
      if (row) take.run(row.event);
    },
    placesOf: (ids) => ids.map(placeOf),
    lastPlace,
    settledPlace: lastPlace, // one transaction writes at a time
  };
}

/** The same bytes as SQLite takes them. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
