import type { Database } from 'better-sqlite3';
import type { Tables } from '../../driver.ts';
import { MARK } from '../../semantics/marks.ts';
import { compiledWhenUsed } from '../compiled-when-used.ts';
import { historyTables } from './history.ts';
import { laneTables } from './lanes.ts';
import { ledgerTables } from './ledger.ts';
import { quarantineTables } from './quarantine.ts';
import { resetTables } from './resets.ts';
import { secretTables } from './secrets.ts';
import { stepAndStateTables } from './steps-and-state.ts';
import { workTables } from './work.ts';

/** As long as a block of a file system: on a full disk a shorter write still fits into the last block of the log. */
const PROBE_BYTES = 4096;

const known = new WeakMap<Database, Tables>();

/**
 * The tables of a connection, with their statements prepared once. Where a table has partial indexes, SQLite compares bare
 * parameters of a query with their conditions, and so compiles the query again for each value, which takes ten times as long
 * as running it. A plus before the parameter keeps it from that.
 */
export function tablesOf(db: Database): Tables {
  const tables = known.get(db) ?? tablesWith(compiledWhenUsed(db));
  known.set(db, tables);
  return tables;
}

function tablesWith(db: Database): Tables {
  return {
    ...ledgerTables(db),
    ...workTables(db),
    ...laneTables(db),
    ...historyTables(db),
    ...stepAndStateTables(db),
    ...resetTables(db),
    ...quarantineTables(db),
    ...secretTables(db),
    ...probes(db),
  };
}

function probes(db: Database): Pick<Tables, 'ping' | 'newestTime' | 'meta' | 'setMeta' | 'setMark'> {
  // Another value each time: SQLite writes no page for a row that gets the value that it has.
  const write = db.prepare(
    `INSERT INTO meta VALUES ('ping', randomblob(${PROBE_BYTES})) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  );
  const received = db.prepare<[], number>('SELECT received_at FROM ledger ORDER BY seq DESC LIMIT 1').pluck();
  const ended = db
    .prepare<[], number | null>(
      'SELECT max(handled_at) FROM results WHERE handled_at IS NOT NULL AND has_body = 1',
    )
    .pluck();
  const meta = db.prepare<[string], Buffer>('SELECT value FROM meta WHERE name = ?').pluck();
  const setMeta = db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)');
  const removeMark = db.prepare('DELETE FROM meta WHERE name = ?');
  return {
    ping: () => void write.run(),
    meta: (name) => meta.get(name),
    setMeta: (name, value) => void setMeta.run(name, value),
    setMark: (given) => void (given ? setMeta.run(MARK, given) : removeMark.run(MARK)),
    newestTime() {
      const times = [received.get(), ended.get()].filter((time) => typeof time === 'number');
      return times.length > 0 ? Math.max(...times) : undefined;
    },
  };
}
