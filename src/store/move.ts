import { createHash } from 'node:crypto';
import { KitError } from '../base/errors.ts';
import { sqlitePathOf } from '../base/url.ts';
import { columnOf } from './dialect.ts';
import { type Raw, unusable } from './engine.ts';
import { engineOf, hasDatabase, withDatabase, withStore } from './open.ts';
import { MOVED, MOVING, VERSION } from './schema.ts';
import { keyPathOf } from './secrets/vault.ts';
import { isThere } from './sqlite/file.ts';

interface Moving {
  /** URLs, as DATABASE_URL has them */
  readonly from: string;
  readonly to: string;
  /** the key of `to`, and of `from` unless that has another; without it, a SQLite database has one in a file beside it */
  readonly secretsKey?: Buffer | undefined;
  readonly fromKey?: Buffer | undefined;
  /** told after each page how many rows were copied or compared */
  readonly onPage: (rows: number) => void;
}

/** The tables that are copied as they are, and the columns of their keys. Secrets are sealed for the other key. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  events: ['seq'],
  lanes: ['subscriber', 'resource'],
  attempts: ['event', 'lease'],
  steps: ['event', 'name'],
  state: ['subscriber', 'resource', 'name'],
  reminders: ['subscriber', 'resource', 'name'],
  subscribers: ['name'],
  channels: ['resource'],
  quarantine: ['seq'],
  stats: ['minute', 'instance', 'subscriber', 'kind', 'result'],
  refusals: ['reason', 'webhook_id', 'network'],
  audit: ['seq'],
  meta: ['name'],
};

/** The rows of meta that are moved; the others are about one database alone. */
const whereOf = (table: string) =>
  table === 'meta' ? "name IN ('paused', 'quarantine_lost', 'alerts')" : 'true';

const PAGE = 500;

/**
 * Moves everything of one database into an empty one: table by table, counted and compared. The receivers are stopped. Afterwards programs
 * refuse the database of `from`. A move that was cut off begins again, with an emptied target.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function moveDatabase(moving: Moving) {
  const { from, to, secretsKey } = moving;
  if (from === to) throw new KitError('INPUT_INVALID', '--from and --to name the same database: name two');
  // The key beside a SQLite database goes before SECRETS_KEY, which is that of the other side.
  const path = sqlitePathOf(from);
  const hasFile = path !== undefined && isThere(keyPathOf(path));
  const fromKey = moving.fromKey ?? (hasFile ? undefined : secretsKey);
  const former = { DATABASE_URL: from, SECRETS_KEY: fromKey };
  const secrets = await withDatabase(former, (store) => store.secrets.all());
  await using source = await openRaw(from);
  const config = { DATABASE_URL: to, SECRETS_KEY: secretsKey };
  if (hasDatabase(config)) await dropUnfinished(to);
  await withStore(config, async (store) => {
    if ((await store.queue.count({})) + (await store.quarantine.size()) > 0)
      throw unusable('the database to move to is not empty: name an empty one');
    for (const secret of secrets) await store.secrets.put(secret);
  });
  await using target = await openRaw(to);
  await target.setVersion(MOVING);
  let rows = 0;
  const onPage: OnPage = ({ length }) => {
    rows += length;
    moving.onPage(rows);
  };
  const moved = [];
  for (const table of Object.keys(KEYS)) moved.push(await copy(table, source, target, onPage));
  await target.transact((db) => db.all(SET_CURSORS));
  await target.setVersion(VERSION);
  await source.setVersion(MOVED);
  // A receiver that stood still meanwhile fails.
  if (source.isPostgres) await source.transact((db) => db.all('ALTER TABLE events RENAME TO events_moved'));
  return moved;
}

/** PostgreSQL gives a number to what it does not insert, too: a cursor may be beyond the last event, after which the target goes on. */
const LAST = '(SELECT coalesce(max(seq), 0) FROM events)';
const SET_CURSORS = `UPDATE subscribers SET place = ${LAST} WHERE place > ${LAST}`;

const openRaw = async (url: string): Promise<Raw> => (await engineOf(url)).openRaw(url);

/** Removes what an unfinished move has left. @throws KitError STORE_UNUSABLE if other programs use the database */
async function dropUnfinished(url: string): Promise<void> {
  await using side = await openRaw(url);
  if ((await side.version()) !== MOVING) return;
  for (const table of [...Object.keys(KEYS), 'secrets'])
    await side.transact((db) => db.all(`DELETE FROM ${table} WHERE ${whereOf(table)}`));
  await side.setVersion(VERSION);
}

type OnPage = (page: readonly object[]) => unknown;

/**
 * Copies a table, and reads both sides.
 * @returns how many rows it has, and the SHA-256 of them all on each side, in hexadecimal
 * @throws KitError STORE_UNUSABLE if the sides are not the same
 */
async function copy(table: string, from: Raw, to: Raw, onPage: OnPage) {
  let rows = 0;
  const sent = await digestOf(from, table, async (page) => {
    await to.transact((db) => db.each(insertInto(to, table, page), page));
    rows += page.length;
    onPage(page);
  });
  const there = await digestOf(to, table, onPage);
  if (sent !== there) throw unusable(`table ${table} is not the same on both sides: run the move again`);
  const setPlace = `SELECT setval('${table}_seq_seq', greatest((SELECT max(seq) FROM ${table}), 1))`;
  if (to.isPostgres && KEYS[table]?.[0] === 'seq') await to.transact((db) => db.all(setPlace));
  return { table, rows, from: sent, to: there };
}

function insertInto({ isPostgres }: Raw, table: string, rows: readonly object[]): string {
  if (isPostgres)
    return `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $rows)`;
  const names = Object.keys(rows[0] ?? {}).map(columnOf);
  return `INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `$${name}`)})`;
}

/** Reads the rows of a table in the order of its key. @returns their SHA-256 */
async function digestOf(side: Raw, table: string, onPage: OnPage): Promise<string> {
  const hash = createHash('sha256');
  const key = KEYS[table] ?? [];
  const after = `(${key}) > (${key.map((column) => `$${column}`)})`;
  let last: object | undefined;
  do {
    const where = `${whereOf(table)} AND ${last ? after : 'true'}`;
    const sql = `SELECT * FROM ${table} WHERE ${where} ORDER BY ${key} LIMIT $limit`;
    const page = await side.transact((db) => db.all<object>(sql, { ...last, limit: PAGE }));
    if (page.length > 0) await onPage(page);
    for (const row of page) hash.update(JSON.stringify(Object.entries(row).sort()));
    last = page.at(-1);
  } while (last);
  return hash.digest('hex');
}
