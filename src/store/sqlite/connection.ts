import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { pause, systemClock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { type Db, memberOf, type Params, rowOf, sqlite } from '../dialect.ts';
import { type Raw, type StoreOptions, unusable } from '../engine.ts';
import { type Operate, operationsOf, RELAXED } from '../event-store.ts';
import { BEFORE_1_0, migrations, refuseVersion, SHAPE, VERSION } from '../schema.ts';
import { advised, closeToOthers, IN_MEMORY, pathOf, refuseLoss, refuseMissing, replaced } from './file.ts';

export type Mode = 'read' | 'write';

/** Prepares the one connection that writes, and brings the schema up to date. */
function readyToWrite(db: Database.Database, path: string, mustBe: StoreOptions['mustBe']): void {
  const journal = db.pragma('journal_mode = WAL', { simple: true });
  if (journal !== 'wal' && path !== IN_MEMORY)
    throw new Error(`it has journal_mode ${journal}, so that an ack could be lost: move it to a local disk`);
  // By hand: this build of SQLite falls back to NORMAL in WAL mode, in which a power cut can take an acknowledged event.
  db.pragma('synchronous = FULL');
  db.pragma('fullfsync = ON'); // on macOS only these reach the platter; elsewhere they do nothing
  db.pragma('checkpoint_fullfsync = ON');
  // How many pages the log gets before a checkpoint moves them into the file: four times the default, as it moves each page once.
  db.pragma('wal_autocheckpoint = 4000');
  // A log that something reads for long grows; its file is cut to this when it begins again, in bytes.
  db.pragma('journal_size_limit = 25000000');
  if (versionOf(db) === VERSION) return;
  db.transaction(() => {
    const version = versionOf(db); // another process may have been first
    refuseVersion(path, version, mustBe);
    for (const migration of migrations.slice(version)) db.exec(migration(sqlite));
    db.pragma(`user_version = ${VERSION}`);
    db.pragma(`application_id = ${SHAPE}`);
  }).immediate();
}

/** Such a connection sees committed data, and blocks no writes. */
const readyToRead = (db: Database.Database, path: string) => refuseVersion(path, versionOf(db), 'there');

/** The version of a database; 0 of an empty one. */
export function versionOf(db: Database.Database): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  const isOfThis = db.pragma('application_id', { simple: true }) === SHAPE;
  return version > 0 && !isOfThis ? BEFORE_1_0 : version;
}

/** Opens a database. @throws KitError STORE_UNUSABLE */
export function opened(path: string, mode: Mode, ready: Ready = () => {}): Database.Database {
  let db: Database.Database | undefined;
  try {
    if (path !== IN_MEMORY) refuseLoss(path);
    if (path !== IN_MEMORY && mode === 'write') closeToOthers(path);
    db = new Database(path, { readonly: mode === 'read' });
    ready(db, path);
    return db;
  } catch (cause) {
    db?.close();
    if (cause instanceof KitError) throw cause;
    throw unusable(`cannot open the database ${path}: ${advised(messageOf(cause))}`, cause);
  }
}

type Ready = (db: Database.Database, path: string) => void;

/** Statements on a connection, each prepared once. */
function statementsOn(database: Database.Database): Db {
  const known = new Map<string, Run>();
  const each = <R>(sql: string, rows: readonly Params[], params?: Params) => {
    const run = known.get(sql) ?? prepare(database, sql);
    known.set(sql, run);
    return rows.flatMap((row) => run(row, params) as R[]);
  };
  return { all: <R>(sql: string, params: Params = {}) => each<R>(sql, [params]), each };
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

/** Does work between BEGIN and COMMIT, and undoes it if it fails. */
export function transactionsOn(database: Database.Database, begin: string): Raw['transact'] {
  const db = statementsOn(database);
  return async (work) => {
    db.all(begin);
    try {
      const done = await work(db);
      db.all('COMMIT');
      return done;
    } catch (error) {
      if (database.inTransaction) db.all('ROLLBACK');
      throw error;
    }
  };
}

/** Tells a file from another one that took its place. */
function identityOf(path: string): string {
  const { dev, ino } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return `${dev} ${ino}`;
}

/** An operation to be done on a thread. */
export type Request = { readonly name: string; readonly input: unknown };

/** How requests ended. */
export interface Said {
  readonly outputs?: readonly unknown[];
  readonly failed?: string;
  /** whether it is the database, and not one of the requests, that something is wrong with */
  readonly isUnavailable?: boolean;
}

export interface Connection {
  /** Does requests in one transaction. The next ones come after that. */
  run(requests: readonly Request[]): Promise<Said>;
  close(): unknown;
  /** The share of its time that its thread has worked since this was asked last, 0 to 1. One without a thread does not know. */
  busy?(): number;
}

/** A connection. In memory there is one for reads and writes. */
export function connectionOn(path: string, mode: Mode, mustBe?: StoreOptions['mustBe']): Connection {
  const isWriter = mode === 'write';
  const database = opened(path, mode, (db) =>
    isWriter ? readyToWrite(db, path, mustBe) : readyToRead(db, path),
  );
  const transact = transactionsOn(database, isWriter ? 'BEGIN IMMEDIATE' : 'BEGIN');
  const file = identityOf(path);
  const operations: Readonly<Record<string, Operate>> = operationsOf(sqlite);
  let synchronous = 'FULL';
  return {
    async run(requests) {
      try {
        // The next process to start would not find what was written.
        if (isWriter && identityOf(path) !== file) throw new Error(replaced(path));
        // An ack waits for the disk. A power cut may take commits of the RELAXED operations, and these run again.
        const wanted = requests.every(({ name }) => RELAXED.has(name)) ? 'NORMAL' : 'FULL';
        if (wanted !== synchronous) database.pragma(`synchronous = ${wanted}`); // 16 µs each time
        synchronous = wanted;
        const outputs: unknown[] = [];
        await transact(async (db) => {
          for (const { name, input } of requests) outputs.push(await operations[name]?.(db, input as never));
        });
        return { outputs };
      } catch (cause) {
        return { failed: advised(messageOf(cause)), isUnavailable: !isOfRequest(cause) };
      }
    },
    close: () => database.close(),
  };
}

function isOfRequest(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  const { code = '' } = error as { readonly code?: string };
  return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(code);
}

/**
 * Copies a database while others write to it, and checks the copy, which has its name only then. Nobody but its owner may read it.
 * @returns how many events and bytes the copy has
 * @throws KitError STORE_UNUSABLE if there is no database, or it cannot be copied; INPUT_INVALID if the file exists
 */
export function backUp(path: string, file: string): { events: number; bytes: number } {
  refuseMissing(path);
  if (existsSync(file)) throw new KitError('INPUT_INVALID', `${file} exists already: give another name`);
  const part = `${file}.${randomUUID()}.part`;
  const db = opened(path, 'read');
  try {
    closeSync(openSync(part, 'wx', 0o600)); // SQLite takes an empty file, and leaves its mode
    db.prepare('VACUUM INTO ?').run(part);
    db.prepare('ATTACH ? AS copy').run(part);
    const condition = db.pragma('copy.quick_check(1)', { simple: true });
    if (condition !== 'ok') throw new Error(`the copy is damaged (${condition}): run npx hookkit doctor`);
    const events = Number(db.prepare('SELECT count(*) FROM copy.events').pluck().get());
    db.exec('DETACH copy');
    renameSync(part, file);
    return { events, bytes: statSync(file).size };
  } catch (cause) {
    throw unusable(`cannot back up to ${file}: ${advised(messageOf(cause))}`, cause);
  } finally {
    db.close();
    rmSync(part, { force: true });
  }
}

/** For so long compacting waits for others. */
const PATIENCE_MS = 60_000;

/** Has what was deleted gone from the file and its log. @throws KitError STORE_UNUSABLE, also if others never leave it alone */
export async function compact(path: string): Promise<void> {
  const db = opened(path, 'write');
  try {
    db.pragma(`busy_timeout = ${PATIENCE_MS}`);
    db.exec('VACUUM');
    db.pragma('wal_checkpoint(PASSIVE)'); // most of it, while others write
    db.pragma('busy_timeout = 500'); // as nobody else writes while the next one waits
    const until = systemClock.now() + PATIENCE_MS;
    while (db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) !== 0) {
      if (systemClock.now() > until) throw new Error('database is locked');
      await pause(systemClock, 500);
    }
  } catch (cause) {
    const reason = advised(messageOf(cause));
    throw unusable(`deleted data may still be in the file ${path}, so run this again: ${reason}`, cause);
  } finally {
    db.close();
  }
}

/** Opens a database for a move, and keeps others out. @throws KitError STORE_UNUSABLE, also if another program has it open */
export async function openRaw(url: string): Promise<Raw> {
  const database = opened(pathOf(url), 'write', (db) => {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('synchronous = FULL');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
  });
  return {
    isPostgres: false,
    transact: transactionsOn(database, 'BEGIN EXCLUSIVE'),
    version: async () => versionOf(database),
    setVersion: async (version) => void database.pragma(`user_version = ${version}`),
    [Symbol.asyncDispose]: async () => void database.close(),
  };
}
