import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { extensions, schema } from '../../../src/store/sqlite/schema.ts';
import { columnsOf, FORMS } from '../../../src/store/transfer/forms.ts';
import { connected, createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';

/** What a transfer has, by table; the secrets, which it seals again, and `meta`, of which nothing moves, are not among it. */
const transferred = new Map(FORMS.map((form) => [form.table, new Set(columnsOf(form))]));

/** What an engine keeps beside that, and where it comes from. */
const DERIVED = new Map([
  ['finished', 'results'],
  ['kinds', 'ledger'],
  ['bodies', 'ledger'],
  ['quarantine_repeats', 'quarantine'],
]);
const APART = new Set(['meta', 'secrets', 'cursors', 'taken', 'gaps', 'sqlite_sequence']);
/** The names that an engine has for the same, or for what follows from another column. */
const SAME = new Map([
  ['ledger.seq', 'event'],
  ['finished.is_handled', 'status'],
]);

/** The columns, as TABLE.COLUMN, that no transfer takes along. */
function leftOut(columns: readonly { readonly table: string; readonly name: string }[]): string[] {
  return columns
    .filter(({ table }) => !APART.has(table))
    .filter(({ table, name }) => {
      const form = transferred.get(DERIVED.get(table) ?? table);
      return !form?.has(SAME.get(`${table}.${name}`) ?? name);
    })
    .map(({ table, name }) => `${table}.${name}`);
}

test('has every column of SQLite, when a database is transferred', () => {
  const db = new Database(':memory:');
  for (const sql of [schema, ...extensions]) db.exec(sql);
  const columns = db
    .prepare<[], { table: string; name: string }>(
      `SELECT sqlite_schema.name AS "table", columns.name FROM sqlite_schema, pragma_table_info(sqlite_schema.name) AS columns
       WHERE sqlite_schema.type = 'table'`,
    )
    .all();
  db.close();
  expect(columns.length).toBeGreaterThan(transferred.size);
  expect(leftOut(columns)).toEqual([]);
  expect(leftOut([{ table: 'attempts', name: 'unknown' }])).toEqual(['attempts.unknown']);
});

await describeWithPostgres('a transfer', (server) => {
  test('has every column of PostgreSQL, when a database is transferred', async () => {
    const name = await createDatabase(server);
    const { rows } = await connected(server.adminUrl(name), (client) =>
      client.query<{ table: string; name: string }>(
        `SELECT relname AS table, attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
         WHERE relnamespace = 'hookkit'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
           AND attnum > 0 AND NOT attisdropped`,
      ),
    );
    await dropDatabase(server, name);
    expect(rows.length).toBeGreaterThan(transferred.size);
    expect(leftOut(rows)).toEqual([]);
  });
});
