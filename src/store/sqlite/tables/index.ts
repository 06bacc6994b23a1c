import type { Database } from 'better-sqlite3';
import type { Tables } from '../../driver.ts';
import { historyTables } from './history.ts';
import { laneTables } from './lanes.ts';
import { ledgerTables } from './ledger.ts';
import { quarantineTables } from './quarantine.ts';
import { resetTables } from './resets.ts';
import { secretTables } from './secrets.ts';
import { stepAndStateTables } from './steps-and-state.ts';
import { workTables } from './work.ts';

const known = new WeakMap<Database, Tables>();

/**
 * The tables of a connection, with their statements prepared once. Where a table has partial indexes, SQLite compares bare
 * parameters of a query with their conditions, and so compiles the query again for each value, which takes ten times as long
 * as running it. A plus before the parameter keeps it from that.
 */
export function tablesOf(db: Database): Tables {
  const tables = known.get(db) ?? {
    ...ledgerTables(db),
    ...workTables(db),
    ...laneTables(db),
    ...historyTables(db),
    ...stepAndStateTables(db),
    ...resetTables(db),
    ...quarantineTables(db),
    ...secretTables(db),
  };
  known.set(db, tables);
  return tables;
}
