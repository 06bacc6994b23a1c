import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import Database from 'better-sqlite3';
import { digestOf } from '../../src/notification/digest.ts';
import { parseJsonText } from '../../src/notification/json.ts';
import { tokenDigest } from '../../src/store/quarantine-keys.ts';

const PACKED = new URL('../fixtures/version-8/database.br', import.meta.url);

/** A value of SQLite as JSON: of a blob, its base64. */
type Packed = string | number | null | { readonly base64: string };
type Value = string | number | null | Buffer;
type Row = Readonly<Record<string, Value>>;

/** A database as the fixture has it. What is computed of other columns is null: digests cannot be compressed. */
interface PackedDatabase {
  readonly version: number;
  /** the time of the clock when it was left */
  readonly now: number;
  /** of the file beside it */
  readonly key: string;
  /** the SHA-256 of all its rows */
  readonly sha256: string;
  readonly schema: readonly { readonly type: string; readonly sql: string }[];
  /** by table, its columns */
  readonly tables: Readonly<Record<string, Readonly<Record<string, readonly Packed[]>>>>;
}

/** A database that a program of version 8 left behind. */
export interface FormerDatabase {
  readonly path: string;
  readonly now: number;
}

/** The columns that are digests, and what they are digests of. */
const DIGESTS: Readonly<Record<string, Readonly<Record<string, (row: Row) => Buffer | undefined>>>> = {
  events: { digest: digestOfBody },
  quarantine: { digest: digestOfBody, token_digest: ({ token }) => tokenDigest(String(token)) },
};

function digestOfBody({ body }: Row): Buffer | undefined {
  return typeof body === 'string' ? digestOf(parseJsonText(body)) : undefined;
}

/** Writes the database of the fixture and its key file. */
export function unpackVersion8(path: string): FormerDatabase {
  const packed: PackedDatabase = JSON.parse(brotliDecompressSync(readFileSync(PACKED)).toString());
  for (const [file, content] of [
    [`${path}.key`, packed.key],
    [path, ''],
  ] as const) {
    writeFileSync(file, content, { mode: 0o600 });
  }
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  db.transaction(() => {
    const isTable = ({ type }: { readonly type: string }) => type === 'table';
    for (const { sql } of packed.schema.filter(isTable)) db.exec(sql);
    for (const [table, columns] of Object.entries(packed.tables)) insert(db, table, columns);
    // Indexes and triggers come last: the rows are already as the triggers left them.
    for (const { sql } of packed.schema.filter((one) => !isTable(one))) db.exec(sql);
    db.pragma(`user_version = ${packed.version}`);
  })();
  const found = sha256Of(db);
  db.close();
  if (found !== packed.sha256) throw new Error(`the fixture has the SHA-256 ${found}, not ${packed.sha256}`);
  return { path, now: packed.now };
}

function insert(db: Database.Database, table: string, columns: PackedDatabase['tables'][string]): void {
  const names = Object.keys(columns);
  const statement = db.prepare(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
  );
  const count = Object.values(columns)[0]?.length ?? 0;
  if (table === 'sqlite_sequence') db.exec('DELETE FROM sqlite_sequence');
  for (let at = 0; at < count; at++) {
    const row: Record<string, Value> = Object.fromEntries(
      names.map((name) => [name, unpacked(columns[name]?.[at] ?? null)]),
    );
    for (const [name, digest] of Object.entries(DIGESTS[table] ?? {})) row[name] ??= digest(row) ?? null;
    statement.run(row);
  }
}

/** Writes the fixture from a database that nothing else is writing to. */
export function packVersion8(path: string, { now }: { readonly now: number }): void {
  const db = new Database(path, { readonly: true });
  const schema = db
    .prepare<[], { type: string; sql: string }>(
      "SELECT type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all();
  const packed: PackedDatabase = {
    version: Number(db.pragma('user_version', { simple: true })),
    now,
    key: readFileSync(`${path}.key`, 'utf8'),
    sha256: sha256Of(db),
    schema,
    tables: Object.fromEntries(tablesOf(db).map((table) => [table, columnsOf(db, table)])),
  };
  db.close();
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  writeFileSync(PACKED, brotliCompressSync(JSON.stringify(packed), quality));
}

function columnsOf(db: Database.Database, table: string): Record<string, Packed[]> {
  const columns: Record<string, Packed[]> = {};
  for (const row of rowsOf(db, table)) {
    for (const [name, value] of Object.entries(row)) {
      const computed = Buffer.isBuffer(value) ? DIGESTS[table]?.[name]?.(row)?.equals(value) : false;
      columns[name] ??= [];
      columns[name].push(computed ? null : packedOf(value));
    }
  }
  return columns;
}

/** All tables, that of the numbers given out included. */
function tablesOf(db: Database.Database): string[] {
  return db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
}

function rowsOf(db: Database.Database, table: string): Row[] {
  return db.prepare<[], Row>(`SELECT * FROM ${table}`).all();
}

function sha256Of(db: Database.Database): string {
  const rows = tablesOf(db).map((table) => [
    table,
    rowsOf(db, table).map((row) => Object.values(row).map(packedOf)),
  ]);
  return hash('sha256', JSON.stringify(rows));
}

function packedOf(value: Value): Packed {
  return Buffer.isBuffer(value) ? { base64: value.toString('base64') } : value;
}

function unpacked(value: Packed): Value {
  return typeof value === 'object' && value !== null ? Buffer.from(value.base64, 'base64') : value;
}
