import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { pause, systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { findingsOf } from '../../base/finding.ts';
import { columnOf, type Db, memberOf, one, type Params, postgres, rowOf } from '../dialect.ts';
import type { Checks, DatabaseSize, Engine, Flaw, Raw, StoreOptions, StoreSettings } from '../engine.ts';
import { judged, MOST_ROWS, unavailable, unusable } from '../engine.ts';
import { type Operate, operationsOf } from '../event-store.ts';
import { BEFORE_1_0, migrations, refuseVersion, SHAPE, VERSION } from '../schema.ts';
import { codeOf, direct, isConflict, isTrouble, nameOf, reasonOf, Servers } from './servers.ts';

const READ_ONLY = '25006';
/** How often a transaction is tried that others are in the way of. */
const TRIES = 5;

/**
 * Set in each transaction, since behind PgBouncer a connection is only lent for one. A process that stands still within a transaction
 * gives up what it has locked after five seconds, so that the others go on. The planner believes that lanes are few, and that scanning
 * them is cheap: it must use the indexes whatever a held snapshot keeps in the tables.
 */
const SETTINGS = `SET LOCAL search_path = hookkit; SET LOCAL idle_in_transaction_session_timeout = '5s';
  SET LOCAL lock_timeout = '5s'; SET LOCAL jit = off`;
const WRITING = `BEGIN; ${SETTINGS}; SET LOCAL statement_timeout = '15s'; SET LOCAL enable_seqscan = off;
  SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL plan_cache_mode = force_generic_plan`;
/** All statements of a read see the same moment. */
const READING = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${SETTINGS}; SET LOCAL statement_timeout = '15s'`;
/** It waits for another process that migrates, but not for long for a table: acks queue up behind it. */
const MIGRATING = `BEGIN; ${SETTINGS}; SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(${0x686f6f6b}, -1);
  SET LOCAL lock_timeout = '5s'`;

/** A time-out would end the wait for a synchronous standby, and let the commit succeed on this server alone. */
const COMMIT = 'SET LOCAL statement_timeout = 0; COMMIT';

/** Opens a PostgreSQL database, and brings its schema up to date. @throws KitError STORE_UNUSABLE or CONFIG_INVALID */
export async function openEngine(options: StoreOptions): Promise<Engine> {
  if (!options.SECRETS_KEY && !options.readOnly) throw new KitError('CONFIG_INVALID', NO_KEY);
  const servers = new Servers(options.DATABASE_URL, options.DATABASE_POOL);
  const operations: Readonly<Record<string, Operate>> = operationsOf(postgres);
  const start = () => inTransaction(servers, 'BEGIN READ ONLY', (db) => prepare(servers, db, options));
  await opening(servers, NAME, start);
  const attempt = async (begin: string, operate: Operate | undefined, input: object): Promise<unknown> => {
    const once = () => inTransaction(servers, begin, (db) => operate?.(db, input as never));
    try {
      // A page that waited for a lock holds a connection, and acks may have none left.
      return await (begin === WRITING ? tried(once) : once());
    } catch (cause) {
      throw isTrouble(cause) ? unavailable(reasonOf(cause), cause) : cause;
    }
  };
  const underWay = new Set<Promise<unknown>>();
  const transact: typeof attempt = (...how) => {
    const work = attempt(...how);
    underWay.add(work);
    return work.finally(() => underWay.delete(work));
  };
  return {
    keySource: options.SECRETS_KEY ?? '', // what only reads needs none
    write: (name, input) => transact(WRITING, operations[name], { ...input, now: options.clock.now() }),
    read: (name, input) => transact(READING, operations[name], input),
    busy: () => servers.busy(),
    size: () => transact(READING, sizeOf, {}) as Promise<DatabaseSize>,
    async compact() {}, // what was deleted is the server's to remove
    async close() {
      await Promise.allSettled(underWay); // a pool that ends forgets those who wait for a connection
      await servers.close();
    },
  };
}

async function sizeOf(db: Db): Promise<DatabaseSize> {
  const size = await one<DatabaseSize>(db, 'SELECT pg_database_size(current_database()) AS bytes');
  return { ...size, flaw: await openTransaction(db) };
}

/** A session `a` of the server, for people: `PID 123 (psql, idle in transaction)`; and what ends it. */
const SESSION = "concat('PID ', a.pid, ' (', concat_ws(', ', nullif(application_name, ''), state), ')')";
const END = "concat('end it, as its role or a superuser: SELECT pg_terminate_backend(', a.pid, ')')";

const OPEN = `SELECT 'open_transaction' AS fault, concat('A transaction of ', ${SESSION}, ' has been open for ',
    (extract(epoch FROM now() - xact_start) / 60)::int, ' min') AS text,
  concat('Vacuum removes nothing that is newer, so tables grow and claims of busy media become slower: ', ${END}, '.') AS advice
  FROM pg_stat_activity a WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND xact_start < now() - CAST($longest AS interval)
  ORDER BY xact_start LIMIT 1`;

/** The transaction that has been open for longest, if that is too long. @param longest an interval of PostgreSQL */
export async function openTransaction(db: Db, longest = '5 min'): Promise<Flaw | undefined> {
  return (await db.all<Flaw>(OPEN, { longest }))[0];
}

/** Closes servers again that cannot be used. @param name the database, for people. @throws KitError STORE_UNUSABLE */
async function opening(servers: Servers, name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    await servers.close();
    if (cause instanceof KitError) throw cause;
    throw unusable(`cannot open ${name}: ${reasonOf(cause)}`, cause);
  }
}

/** Does a transaction, and again where others were in its way. */
async function tried<T>(transaction: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction();
    } catch (cause) {
      if (!isConflict(cause) || tries === TRIES) throw cause;
      await pause(systemClock, randomInt(1, 20));
    }
  }
}

type Work<T> = (db: Db) => T | Promise<T>;

export async function inTransaction<T>(servers: Servers, begin: string, work: Work<T>): Promise<T> {
  const client = await servers.connect();
  try {
    await client.query(begin);
    const done = await work(statementsOn(client));
    await commit(client);
    client.release();
    return done;
  } catch (error) {
    // A connection in doubt is closed, and the server undoes what is open; so is one to a server that takes no writes now.
    const isSound = error instanceof Error && 'severity' in error && codeOf(error) !== READ_ONLY;
    const isUndone = isSound && (await client.query('ROLLBACK').then(Boolean, () => false));
    client.release(!isUndone);
    throw error;
  }
}

/** @throws Error if the server warns: an administrator has cancelled the wait for a standby, and the commit is on one server alone */
async function commit(client: pg.PoolClient): Promise<void> {
  let warning: string | undefined;
  const take = ({ message }: { readonly message: string | undefined }) => {
    warning ??= message;
  };
  client.on('notice', take);
  await client.query(COMMIT).finally(() => client.off('notice', take));
  if (warning !== undefined) throw new Error(warning);
}

/** Statements by their texts, with their parameters in the order of their numbers. */
const known = new Map<string, ReturnType<typeof numbered>>();

function numbered(sql: string, number: number) {
  const names = [...new Set(Array.from(sql.matchAll(/\$([a-z_]+)/g), ([, name = '']) => name))];
  const text = sql.replaceAll(/\$([a-z_]+)/g, (_, name: string) => `$${names.indexOf(name) + 1}`);
  return { name: `hookkit_${number}`, text, members: names.map(memberOf) };
}

function statementsOn(client: pg.PoolClient): Db {
  const query = async <R>(sql: string, params: Params): Promise<R[]> => {
    const statement = known.get(sql) ?? numbered(sql, known.size);
    known.set(sql, statement);
    const { name, text, members } = statement;
    const values = members.map((member) => storable(Reflect.get(params, member) ?? null));
    const named = direct.has(client) ? { name } : {};
    const { rows, fields } = await client.query<unknown[]>({ ...named, text, values, rowMode: 'array' });
    const columns = fields?.map((field) => memberOf(field.name)) ?? [];
    return rows.map((row) => rowOf<R>(columns, row));
  };
  return {
    all: <R>(sql: string, params: Params = {}) => query<R>(sql, params),
    async each<R>(sql: string, rows: readonly Params[], params: Params = {}) {
      const found: R[] = [];
      for (let at = 0; at < rows.length; at += MOST_ROWS) {
        const some = rows.slice(at, at + MOST_ROWS).map(columnsOf);
        found.push(...(await query<R>(sql, { ...params, rows: JSON.stringify(some) })));
      }
      return found;
    },
  };
}

/** A row as its columns. What is no column, such as the steps of a settlement, stays here. */
const columnsOf = (row: Params) =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([, value]) => typeof value !== 'object')
      .map(([member, value]) => [columnOf(member), storable(value)]),
  );

/** PostgreSQL takes no NUL and no half of a surrogate pair in a text; a flag is a number, and a list JSON, as with SQLite. */
function storable(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  if (Array.isArray(value)) return JSON.stringify(value.map(storable));
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value;
}

const NOTHING =
  'the database of DATABASE_URL has no tables of hookkit: run this where the receiver runs, or correct DATABASE_URL';
const NAME = 'the database of DATABASE_URL';

/** @throws KitError STORE_UNUSABLE if the schema is of a newer version, or not there although it must be */
async function prepare(servers: Servers, db: Db, { mustBe }: StoreOptions): Promise<void> {
  const version = await versionOf(db);
  if (version === VERSION) return; // starting beside others waits for nobody
  if (version === 0 && mustBe === 'there') throw unusable(NOTHING);
  refuseVersion(NAME, version, mustBe);
  // On another connection: this one would remember that there were no tables, while it waits for a process that makes them.
  const migrate = async (own: Db) => {
    const now = await versionOf(own); // another process may have been first
    refuseVersion(NAME, now);
    const [schema] = await own.all("SELECT 1 FROM pg_namespace WHERE nspname = 'hookkit'");
    if (!schema) await own.all('CREATE SCHEMA hookkit'); // one that is there needs no right to make it
    for (const migration of migrations.slice(now))
      for (const sql of migration(postgres).split(';\n')) await own.all(sql);
    await own.all(SET_VERSION, { version: VERSION });
    if (now === 0) for (const sql of [tuned('lanes', 0), tuned('events', 0.05)]) await own.all(sql);
  };
  await tried(() => inTransaction(servers, MIGRATING, migrate)); // receivers of the version before may be in its way
}

const SET_VERSION = `INSERT INTO meta (name, value) VALUES ('version', $version), ('shape', '${SHAPE}')
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** Lanes come and go: they have room in their pages, and are vacuumed early. */
const tuned = (table: string, scale: number) =>
  `ALTER TABLE ${table} SET (fillfactor = 70, autovacuum_vacuum_scale_factor = ${scale},
    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0)`;

const VERSIONS = "SELECT name, value FROM hookkit.meta WHERE name IN ('version', 'shape')";

/** The version of the schema; 0 without one. */
async function versionOf(db: Db): Promise<number> {
  const [there] = await db.all<{ meta: string | null }>("SELECT to_regclass('hookkit.meta')::text AS meta");
  if (!there?.meta) return 0;
  const rows = await db.all<{ name: string; value: string }>(VERSIONS);
  const stored = (name: string) => Number(rows.find((row) => row.name === name)?.value ?? 0);
  return stored('version') > 0 && stored('shape') !== SHAPE ? BEFORE_1_0 : stored('version');
}

const BEGIN = 'BEGIN; SET LOCAL search_path = hookkit; SET LOCAL jit = off';

/** Opens a database for a move. @throws KitError STORE_UNUSABLE if other programs of the kit are connected */
export async function openRaw(url: string): Promise<Raw> {
  const servers = new Servers(url, 1, 'hookkit move');
  const name = nameOf(url);
  const transact: Raw['transact'] = (work) => inTransaction(servers, BEGIN, work);
  await opening(servers, name, async () => {
    // A connection that was just closed is still seen for a moment.
    for (let look = 1; (await transact((db) => db.all(OTHERS))).length > 0; look++) {
      if (look === 20) throw unusable(`other programs use ${name}: end them`);
      await pause(systemClock, 250);
    }
  });
  return {
    isPostgres: true,
    transact,
    version: () => transact(versionOf),
    setVersion: (version) => transact(async (db) => void (await db.all(SET_VERSION, { version }))),
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

const OTHERS = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND application_name LIKE 'hookkit%'`;

const NO_KEY =
  'SECRETS_KEY is not set, and with PostgreSQL all processes need the same one: copy it from another process, or make the first one with "openssl rand -base64 32"';

const OLDEST_SERVER = 140_000;
/** Locks of tables that keep others from writing, but for those of a moment. Of another role's session, no state is seen. */
const LOCKS = `SELECT concat(${SESSION}, ' has locked the table hookkit.', relname, ': ', ${END}) AS problem
  FROM pg_locks l JOIN pg_class c ON c.oid = relation JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE granted AND ($is_behind OR mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
    AND relnamespace = to_regnamespace('hookkit') AND relkind = 'r'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (xact_start < now() - interval '1 s' OR state IS NULL) ORDER BY xact_start LIMIT 1`;

const SERVER =
  'SELECT json_object_agg(name, setting) AS settings, pg_is_in_recovery() AS standby FROM pg_settings';

/** The doctor's checks of a PostgreSQL server: whether it keeps what it commits, and can go on doing so. */
export async function* check({ DATABASE_URL, SECRETS_KEY }: StoreSettings): Checks {
  try {
    await using servers = new Servers(DATABASE_URL, 1);
    const { settings, standby, version, open } = await inTransaction(servers, 'BEGIN READ ONLY', look);
    const { fsync, full_page_writes: pages, synchronous_commit: commit } = settings;
    yield judged('server', `PostgreSQL ${settings.server_version}`, [
      [Number(settings.server_version_num) < OLDEST_SERVER, 'FAIL', 'upgrade it to 14 or newer'],
      [standby, 'FAIL', 'a standby takes no writes: name the primary in DATABASE_URL'],
      [settings.server_encoding !== 'UTF8', 'FAIL', 'make a database that is encoded in UTF8'],
    ]);
    refuseVersion('it', version);
    const schema = judged('database', `schema version ${version}`, [
      [version === 0, 'warn', 'the first start makes its tables; if there were some, check DATABASE_URL'],
      [version < VERSION, 'warn', `the next start brings it to ${VERSION}`],
    ]);
    yield schema;
    yield judged('durability', `fsync ${fsync}, full_page_writes ${pages}, synchronous_commit ${commit}`, [
      [fsync !== 'on', 'FAIL', 'an acknowledged event can be lost; set fsync = on'],
      [commit === 'off', 'FAIL', 'an acknowledged event can be lost; set synchronous_commit = on'],
      [pages !== 'on', 'warn', 'set full_page_writes = on, unless the disk writes pages of 8 KiB whole'],
    ]);
    yield judged('vacuum', `autovacuum ${settings.autovacuum}`, [
      [settings.autovacuum !== 'on', 'FAIL', 'claims become slower with each event; set autovacuum = on'],
      [open !== undefined, 'warn', `${open?.text}. ${open?.advice}`],
    ]);
    if (!SECRETS_KEY) yield findingsOf('key').fail('SECRETS_KEY is not set: copy it from another process');
    return schema.result === 'ok' && !standby && SECRETS_KEY !== undefined;
  } catch (error) {
    yield findingsOf('database').fail(`cannot check ${NAME}: ${reasonOf(error)}`);
    return false;
  }
}

async function look(db: Db) {
  const refuseLocks = async (isBehind: boolean) => {
    const [lock] = await db.all<{ problem: string }>(LOCKS, { isBehind });
    if (lock) throw new KitError('STORE_UNAVAILABLE', lock.problem);
  };
  await refuseLocks(false); // the version would wait for them
  const version = await versionOf(db);
  if (version > 0 && version < VERSION) await refuseLocks(true); // readers, too, are in the way of a migration
  const server = await one<{ settings: Record<string, string>; standby: boolean }>(db, SERVER);
  return { ...server, version, open: await openTransaction(db) };
}
