import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { KitError, messageOf } from '../../base/errors.ts';
import { type Db, memberOf, type Params, rowOf, sqlite } from '../dialect.ts';
import type { Raw } from '../engine.ts';
import { operationsOf, RELAXED, readsOf } from '../operations.ts';
import { BEFORE_1_0, migrations, refuseVersion, SHAPE, VERSION } from '../schema.ts';
import { advised, closeToOthers, lossAt, replaced } from './file.ts';

/** The database that keeps nothing, for tests of handlers. */
export const IN_MEMORY = ':memory:';

/** How long a statement waits for another process's write before it gives up. */
const BUSY_MS = 5000;
/** How many pages the log gets before a checkpoint moves them into the file: four times the default, as a checkpoint moves each page once. */
const CHECKPOINT_PAGES = 4000;
/** A log that something reads for long grows; its file is cut to this when it begins again, in bytes. */
const LONGEST_LOG = 25_000_000;

const UNDURABLE = 'an acknowledged event could be lost: keep the database on a local disk';

export type Mode = 'read' | 'write';

/** Opens the one connection that writes, and brings the schema up to date. @throws KitError STORE_UNUSABLE */
function openWriter(path: string): Database.Database {
  return opened(path, 'write', (db) => {
    const journal = db.pragma('journal_mode = WAL', { simple: true });
    if (journal !== 'wal' && path !== IN_MEMORY)
      throw new KitError('STORE_UNUSABLE', `${path} has journal_mode ${journal}, so that ${UNDURABLE}`);
    // By hand: this build of SQLite falls back to NORMAL in WAL mode, in which a power cut can take an acknowledged event.
    db.pragma('synchronous = FULL');
    db.pragma('fullfsync = ON'); // on macOS only these reach the platter; elsewhere they do nothing
    db.pragma('checkpoint_fullfsync = ON');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.pragma(`journal_size_limit = ${LONGEST_LOG}`);
    migrate(db, path);
  });
}

/** Opens a connection for queries, which sees committed data and blocks no writes. @param least the version that the database has at least. @throws KitError STORE_UNUSABLE */
export function openReader(path: string, least?: number): Database.Database {
  return opened(path, 'read', (db) => {
    if (least !== undefined) refuseVersion(path, versionOf(db), least);
  });
}

/** Opens a database for a move, and keeps others out. @throws KitError STORE_UNUSABLE, also if another program has it open */
export async function openExclusively(path: string): Promise<Raw> {
  const database = opened(path, 'write', (db) => {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('synchronous = FULL');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
  });
  const db = statementsOn(database);
  return {
    isPostgres: false,
    transact: (work) => inTransaction(database, db, 'BEGIN EXCLUSIVE', () => work(db)),
    version: async () => versionOf(database),
    setVersion: async (version) => void database.pragma(`user_version = ${version}`),
    [Symbol.asyncDispose]: async () => void database.close(),
  };
}

/** Has what was deleted gone from the file and its log. @throws KitError STORE_UNUSABLE */
export function compact(path: string): void {
  const db = opened(path, 'write', (one) => {
    one.exec('VACUUM');
    one.pragma('wal_checkpoint(TRUNCATE)');
  });
  db.close();
}

/** The version of a database; 0 of an empty one. */
export function versionOf(db: Database.Database): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  const isOfThis = db.pragma('application_id', { simple: true }) === SHAPE;
  return version === VERSION && !isOfThis ? BEFORE_1_0 : version;
}

function migrate(db: Database.Database, path: string): void {
  if (versionOf(db) === VERSION) return;
  db.transaction(() => {
    const version = versionOf(db); // another process may have been first
    refuseVersion(path, version);
    for (const migration of migrations.slice(version)) db.exec(migration(sqlite));
    db.pragma(`user_version = ${VERSION}`);
    db.pragma(`application_id = ${SHAPE}`);
  }).immediate();
}

function opened(path: string, mode: Mode, ready: (db: Database.Database) => void): Database.Database {
  let db: Database.Database | undefined;
  try {
    const loss = path === IN_MEMORY ? undefined : lossAt(path);
    if (loss !== undefined) throw new KitError('STORE_UNUSABLE', loss);
    if (path !== IN_MEMORY && mode === 'write') closeToOthers(path);
    db = new Database(path, { readonly: mode === 'read', timeout: BUSY_MS });
    ready(db);
    return db;
  } catch (cause) {
    db?.close();
    if (cause instanceof KitError) throw cause;
    const message = `cannot open the database ${path}: ${advised(messageOf(cause))}`;
    throw new KitError('STORE_UNUSABLE', message, { cause });
  }
}

/** Statements on a connection, each prepared once. */
function statementsOn(db: Database.Database): Db {
  const known = new Map<string, Run>();
  const statement = (sql: string) => {
    const run = known.get(sql) ?? prepare(db, sql);
    known.set(sql, run);
    return run;
  };
  return {
    all: <R>(sql: string, params: Params = {}) => statement(sql)(params) as R[],
    each<R>(sql: string, rows: readonly Params[], params?: Params) {
      const run = statement(sql);
      return rows.flatMap((row) => run(row, params)) as R[];
    },
  };
}

type Run = (row: Params, params?: Params) => unknown[];

/** Prepares a statement. Its parameters are bound by position: by name, each run would look each of them up. */
function prepare(db: Database.Database, sql: string): Run {
  const names = Array.from(sql.matchAll(PARAMETER), ([, name = '']) => memberOf(name));
  const statement = db.prepare(sql.replaceAll(PARAMETER, '?'));
  const boundOf = (row: Params, params: Params = row) =>
    names.map((name) => bindable(Reflect.get(name in row ? row : params, name)));
  // The `changed` of the dialect: the row that was given stands for the one that it changed.
  if (!statement.reader)
    return (row, params) => (statement.run(boundOf(row, params)).changes > 0 ? [row] : []);
  const members = statement.columns().map(({ name }) => memberOf(name));
  const values = statement.raw(true);
  return (row, params) => values.all(boundOf(row, params)).map((one) => rowOf(members, one as unknown[]));
}

const PARAMETER = /\$([a-z_]+)/g;

function bindable(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : (value ?? null);
}

/** Does work between BEGIN and COMMIT, and undoes it if it fails. @param db the statements of that connection */
async function inTransaction<T>(
  database: Database.Database,
  db: Db,
  begin: string,
  work: () => T | Promise<T>,
): Promise<T> {
  db.all(begin);
  try {
    const done = await work();
    db.all('COMMIT');
    return done;
  } catch (error) {
    if (database.inTransaction) db.all('ROLLBACK');
    throw error;
  }
}

/** Refuses to write to a file that is no longer at its path: the next process to start would not find what was written. */
function guardFile(path: string): () => void {
  const look = () => statSync(path, { throwIfNoEntry: false });
  const was = look();
  return () => {
    const now = look();
    if (now?.ino === was?.ino && now?.dev === was?.dev) return;
    throw new Error(replaced(path));
  };
}

/** An operation to be done on a thread. */
export type Request = { readonly name: string; readonly input: unknown };

export interface Connection {
  /**
   * Does requests in one transaction, and returns their outputs. The next ones come after that.
   * @throws KitError STORE_UNAVAILABLE; another error if one of the requests is at fault
   */
  run(requests: readonly Request[]): Promise<readonly unknown[]>;
  close(): void | Promise<void>;
  /** The share of its time that its thread has worked since this was asked last, 0 to 1. One without a thread does not know. */
  busy?(): number;
}

type Operate = (db: Db, input: never) => unknown;

/** A connection. In memory there is one for reads and writes. */
export function connectionOn(path: string, mode: Mode): Connection {
  const isWriter = mode === 'write';
  const database = isWriter ? openWriter(path) : openReader(path, VERSION);
  const db = statementsOn(database);
  const check = isWriter ? guardFile(path) : () => {};
  const operations: Readonly<Record<string, Operate>> = { ...operationsOf(sqlite), ...readsOf(sqlite) };
  let synchronous = 'FULL';
  return {
    async run(requests) {
      try {
        check();
        // An ack waits for the disk. A power cut may take commits of the RELAXED operations, and these run again.
        const wanted = requests.every(({ name }) => RELAXED.has(name)) ? 'NORMAL' : 'FULL';
        if (wanted !== synchronous) database.pragma(`synchronous = ${wanted}`);
        synchronous = wanted;
        return await inTransaction(database, db, isWriter ? 'BEGIN IMMEDIATE' : 'BEGIN', async () => {
          const outputs: unknown[] = [];
          for (const { name, input } of requests) outputs.push(await operations[name]?.(db, input as never));
          return outputs;
        });
      } catch (cause) {
        const message = advised(messageOf(cause));
        throw isOfRequest(cause) ? new Error(message) : unavailable(message);
      }
    },
    close: () => void database.close(),
  };
}

export function unavailable(message: string): KitError {
  return new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${message}`);
}

/** Whether it is the request, and not the database, that something is wrong with. */
function isOfRequest(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isError = error instanceof TypeError || error instanceof RangeError;
  return isError || /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(code);
}
