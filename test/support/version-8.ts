import { hash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { digestOf } from '../../src/notification/digest.ts';
import { parseJsonText } from '../../src/notification/json.ts';
import { tokenDigest } from '../../src/store/quarantine-keys.ts';

const PACKED = join(import.meta.dirname, '../fixtures/version-8/database.br');

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
  /** how many it has */
  readonly events: number;
}

/** All of the fixture, or the events of one resource in so many, with what belongs to them and all that belongs to no event. */
export type Extent = 'whole' | 'part';
const ONE_RESOURCE_IN = 8;

/** The columns that are digests, and what they are digests of. */
const DIGESTS: Readonly<Record<string, Readonly<Record<string, (row: Row) => Buffer | undefined>>>> = {
  events: { digest: digestOfBody },
  quarantine: { digest: digestOfBody, token_digest: ({ token }) => tokenDigest(String(token)) },
};

function digestOfBody({ body }: Row): Buffer | undefined {
  return typeof body === 'string' ? digestOf(parseJsonText(body)) : undefined;
}

interface Unpacked {
  readonly bytes: Buffer;
  readonly key: string;
  readonly now: number;
  readonly events: number;
}

/** What a suite writes again and again. */
const unpackedBefore = new Map<Extent, Unpacked>();

/** Writes the database of the fixture and its key file. */
export function unpackVersion8(path: string, extent: Extent = 'whole'): FormerDatabase {
  const { bytes, key, now, events } = unpackedBefore.get(extent) ?? unpack(path, extent);
  writeFileSync(`${path}.key`, key, { mode: 0o600 });
  writeFileSync(path, bytes, { mode: 0o600 });
  return { path, now, events };
}

function unpack(path: string, extent: Extent): Unpacked {
  const whole: PackedDatabase = JSON.parse(brotliDecompressSync(readFileSync(PACKED)).toString());
  const packed = extent === 'part' ? partOf(whole) : whole;
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  db.transaction(() => {
    const isTable = ({ type }: { readonly type: string }) => type === 'table';
    for (const { sql } of packed.schema.filter(isTable)) db.exec(sql);
    for (const [table, columns] of Object.entries(packed.tables)) insert(db, table, columns);
    if (extent === 'part') countAgain(db);
    // Indexes and triggers come last: the rows are already as the triggers left them.
    for (const { sql } of packed.schema.filter((one) => !isTable(one))) db.exec(sql);
    db.pragma(`user_version = ${packed.version}`);
  })();
  if (extent === 'whole') expectAllRows(db, packed);
  const events = db.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0;
  db.close();
  const unpacked = { bytes: readFileSync(path), key: packed.key, now: packed.now, events };
  rmSync(path); // it has the mode of the umask
  unpackedBefore.set(extent, unpacked);
  return unpacked;
}

function expectAllRows(db: Database.Database, { sha256 }: PackedDatabase): void {
  const found = sha256Of(db);
  if (found !== sha256) throw new Error(`the fixture has the SHA-256 ${found}, not ${sha256}`);
}

/** By table, the column that names the event or the resource to which a row belongs. */
const OWNERS: Readonly<Record<string, 'seq' | 'event' | 'resource'>> = {
  events: 'seq',
  lanes: 'resource',
  state: 'resource',
  channels: 'event',
  attempts: 'event',
  steps: 'event',
};

/** The same without the events of most resources. */
function partOf({ tables, ...others }: PackedDatabase): PackedDatabase {
  const { seq = [], resource = [] } = tables.events ?? {};
  const kept = new Set<Packed>([...new Set(resource)].filter((_, at) => (at + 1) % ONE_RESOURCE_IN === 0));
  const keptEvents = new Set(seq.filter((_, at) => kept.has(resource[at] ?? null)));
  const partOfTable = ([table, columns]: [string, (typeof tables)[string]]) => {
    const name = OWNERS[table];
    if (!name) return [table, columns];
    const owners = columns[name] ?? [];
    const isKept = (_: Packed, at: number) =>
      (name === 'resource' ? kept : keptEvents).has(owners[at] ?? null);
    return [
      table,
      Object.fromEntries(Object.entries(columns).map(([column, all]) => [column, all.filter(isKept)])),
    ];
  };
  return { ...others, tables: Object.fromEntries(Object.entries(tables).map(partOfTable)) };
}

/** Counts the events that there are: the fixture has the counts of all. */
function countAgain(db: Database.Database): void {
  db.exec('DELETE FROM tallies; INSERT INTO tallies SELECT kind, status, count(*) FROM events GROUP BY 1, 2');
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
