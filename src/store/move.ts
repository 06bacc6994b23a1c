import { createHash } from 'node:crypto';
import { systemClock } from '../base/clock.ts';
import { sqlitePathOf } from '../base/database-url.ts';
import { KitError } from '../base/errors.ts';
import { columnOf, type Db } from './dialect.ts';
import type { Raw } from './engine.ts';
import type { EventStore } from './event-store.ts';
import { engineOf, openStore, type StoreOptions } from './open.ts';
import { MOVING, VERSION } from './schema.ts';
import { isThere } from './sqlite/file.ts';

export interface Moving {
  /** URLs, as DATABASE_URL has them */
  readonly from: string;
  readonly to: string;
  /** the key of `to`, and of `from` unless that has another; without it, a SQLite database has one in a file beside it */
  readonly secretsKey?: Buffer | undefined;
  readonly fromKey?: Buffer | undefined;
  /** after an abort nothing more is copied; the next move begins again */
  readonly signal: AbortSignal;
  /** told after each page how many rows were copied or compared */
  readonly onPage: (rows: number) => void;
}

/** A table as both databases have it. */
export interface MovedTable {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 of all rows, in hexadecimal */
  readonly from: string;
  readonly to: string;
}

/** The tables that are copied as they are, and the columns of their keys. Secrets are sealed for the other key. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  events: ['seq'],
  lanes: ['resource'],
  attempts: ['event', 'lease'],
  steps: ['event', 'name'],
  state: ['resource', 'name'],
  channels: ['resource'],
  quarantine: ['seq'],
  meta: ['name'],
};

/** Beside the lost notifications, what meta says is of one database alone. */
const whereOf = (table: string) => (table === 'meta' ? "name = 'quarantine_lost'" : 'true');

const PAGE = 500;

/**
 * Moves everything of one database into an empty one: table by table, counted and compared. The receivers are stopped. Afterwards programs
 * refuse the database of `from`. A move that was cut off begins again, with an emptied target.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function moveDatabase({
  from,
  to,
  signal,
  onPage,
  ...keys
}: Moving): Promise<readonly MovedTable[]> {
  const path = sqlitePathOf(from);
  if (path !== undefined && !isThere(path))
    throw new KitError('STORE_UNUSABLE', `there is no database at ${path}: correct the path`);
  if (from === to) throw new KitError('INPUT_INVALID', 'the two databases are the same one');
  const own = { clock: systemClock, threads: false };
  // The key beside a SQLite database goes before SECRETS_KEY, which is that of the other side.
  const hasFile = path !== undefined && isThere(`${path}.key`);
  const fromKey = keys.fromKey ?? (hasFile ? undefined : keys.secretsKey);
  const secrets = await withStore({ ...own, url: from, secretsKey: fromKey, mustExist: true }, (store) =>
    store.everySecret(),
  );
  await using ends = new AsyncDisposableStack();
  const source = await openRaw(from, ends);
  const options = { ...own, url: to, secretsKey: keys.secretsKey };
  await makeEmpty(options);
  await withStore(options, async (store) => {
    for (const secret of secrets) await store.putSecret(secret);
  });
  const target = await openRaw(to, ends);
  await target.setVersion(MOVING);
  let rows = 0;
  const page = (more: number) => {
    signal.throwIfAborted();
    rows += more;
    onPage(rows);
  };
  const moved: MovedTable[] = [];
  for (const table of Object.keys(KEYS)) moved.push(await copy(table, source, target, page));
  await target.setVersion(VERSION);
  await source.retire();
  return moved;
}

async function withStore<T>(options: StoreOptions, work: (store: EventStore) => Promise<T>): Promise<T> {
  const store = await openStore(options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function openRaw(url: string, ends: AsyncDisposableStack): Promise<Raw> {
  const side = await (await engineOf(url)).openRaw(url);
  ends.defer(() => side.close());
  return side;
}

/** Makes the target ready: there, and without what an unfinished move has left. @throws KitError STORE_UNUSABLE if it is in use or not empty */
async function makeEmpty(options: StoreOptions): Promise<void> {
  const { url: to } = options;
  const path = sqlitePathOf(to);
  const tables = [...Object.keys(KEYS), 'secrets'];
  const isThereYet = path === undefined || isThere(path);
  const isUnfinished = isThereYet && (await withRaw(to, (side) => side.version())) === MOVING;
  if (!isUnfinished) await withStore(options, async () => {});
  await using ends = new AsyncDisposableStack();
  const side = await openRaw(to, ends);
  for (const table of tables) {
    const from = `FROM ${table} WHERE ${whereOf(table)}`;
    const sql = isUnfinished ? `DELETE ${from}` : `SELECT 1 ${from} LIMIT 1`;
    const rows = await side.transact(async (db) => db.all(sql));
    if (rows.length > 0)
      throw new KitError('STORE_UNUSABLE', `${side.name} is not empty: name an empty database`);
  }
  await side.setVersion(VERSION);
}

async function withRaw<T>(url: string, work: (side: Raw) => Promise<T>): Promise<T> {
  await using ends = new AsyncDisposableStack();
  return await work(await openRaw(url, ends)); // it is closed after that
}

/** Copies a table, and reads both sides. @throws KitError STORE_UNUSABLE if they are not the same */
async function copy(table: string, from: Raw, to: Raw, onPage: (rows: number) => void): Promise<MovedTable> {
  const [sent, there] = [createHash('sha256'), createHash('sha256')];
  let count = 0;
  for await (const rows of pagesOf(from, table)) {
    await to.transact((db) => insert(db, to, table, rows));
    for (const row of rows) sent.update(textOf(row));
    count += rows.length;
    onPage(rows.length);
  }
  for await (const rows of pagesOf(to, table)) {
    for (const row of rows) there.update(textOf(row));
    onPage(rows.length);
  }
  const moved = { table, rows: count, from: sent.digest('hex'), to: there.digest('hex') };
  if (moved.from !== moved.to)
    throw new KitError('STORE_UNUSABLE', `table ${table} is not the same on both sides: run the move again`);
  if (to.isPostgres && KEYS[table]?.[0] === 'seq')
    await to.transact(async (db) =>
      db.all(`SELECT setval('${table}_seq_seq', greatest((SELECT max(seq) FROM ${table}), 1))`),
    );
  return moved;
}

const textOf = (row: object) => JSON.stringify(Object.entries(row).sort());

async function insert(db: Db, { isPostgres }: Raw, table: string, rows: readonly object[]): Promise<void> {
  const names = Object.keys(rows[0] ?? {}).map(columnOf);
  const sql = isPostgres
    ? `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $rows)`
    : `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `$${name}`).join(', ')})`;
  await db.each(sql, rows);
}

/** The rows of a table in the order of its key. */
async function* pagesOf(side: Raw, table: string): AsyncGenerator<object[]> {
  const order = KEYS[table]?.join(', ');
  const after = KEYS[table]?.map((key) => `$${key}`).join(', ');
  for (let last: object | undefined; ; ) {
    const where = last ? `${whereOf(table)} AND (${order}) > (${after})` : whereOf(table);
    const sql = `SELECT * FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT $limit`;
    const rows = await side.transact(async (db) => db.all<object>(sql, { ...last, limit: PAGE }));
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
    last = rows.at(-1);
  }
}
