import { chmodSync, closeSync, openSync, realpathSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { KitError } from '../../base/errors.ts';
import { standStill } from '../../base/stand-still.ts';
import { isBeingMoved, isBusy, movedByAnother } from '../former/lock-alone.ts';
import { finishMove, isFormer, moveFormer } from '../former/move.ts';
import { isThere } from '../is-there.ts';
import { cutShort, refuseLogLeft } from '../unopened.ts';
import { extensions, MOVED_VERSION, SCHEMA_VERSION, schema } from './schema.ts';
import { bytesOf, identityOf, markZeroed, setPageSize, versionOf } from './upkeep.ts';

/** How long a statement waits for another process's write before it gives up. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * How long the log gets before a checkpoint moves it into the file, in bytes. The same pages are written again
 * and again, and a checkpoint moves each only once. Four times the default of SQLite.
 */
export const LOG_BYTES = 16_480_000;
/** In the log a page has a header of so many bytes. */
const FRAME_HEADER_BYTES = 24;
/**
 * A longer log should have begun anew: something reads from it all the time. The commits after a checkpoint make the log no
 * longer than this by themselves, and a longer file is cut to it: a log that writes into the blocks that it has is faster.
 */
export const LONGEST_LOG = 1.5 * LOG_BYTES;

/** Opens the one connection that writes, and brings the schema up to date. */
export function openWriter(path: string): Database.Database {
  const wasThere = isThere(path); // of something that is no file SQLite says nothing
  finishMove(path); // before an empty file takes its place
  refuseLogLeft(path);
  closeToOthers(path);
  const db = connect(path);
  if (wasThere) refuseCutShort(db, path);
  setUp(db);
  migrate(db, path);
  return db;
}

/** Another process that has just made the file fills it within so many milliseconds. */
const MAKING_MS = 2000;
const LOOK_EVERY_MS = 50;

/**
 * A first start that failed leaves a page at least.
 * @throws KitError STORE_UNUSABLE if a database has no page, and a key all the same
 */
function refuseCutShort(db: Database.Database, path: string): void {
  for (let waitedMs = 0; bytesOf(db) === 0; waitedMs += LOOK_EVERY_MS) {
    const wrong = cutShort(path);
    if (wrong === undefined) return;
    if (waitedMs >= MAKING_MS) {
      db.close();
      throw new KitError('STORE_UNUSABLE', wrong);
    }
    standStill(LOOK_EVERY_MS);
  }
}

/** Makes a connection one that writes. */
export function setUp(db: Database.Database): void {
  // Before the first write, so that deleted content is overwritten; for secrets, tables/secrets.ts does more.
  db.pragma('secure_delete = FAST');
  setPageSize(db);
  db.pragma('journal_mode = WAL');
  // By hand: this build of SQLite falls back to NORMAL in WAL mode, which can lose an acknowledged event.
  db.pragma('synchronous = FULL');
  // On macOS only these reach the platter; elsewhere they do nothing.
  db.pragma('fullfsync = ON');
  db.pragma('checkpoint_fullfsync = ON');
  const pageBytes = Number(db.pragma('page_size', { simple: true }));
  db.pragma(`wal_autocheckpoint = ${Math.floor(LOG_BYTES / (pageBytes + FRAME_HEADER_BYTES))}`);
  db.pragma(`journal_size_limit = ${LONGEST_LOG}`);
}

/** Connects to a database; moves a former one before. */
function connect(path: string): Database.Database {
  const identity = identityOf(path);
  const db = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const version = versionOf(db);
    // Otherwise another process has just moved it, and this is the former file.
    const isInPlace = identityOf(path) === identity;
    if (isInPlace && !isFormer(version)) return db;
  } catch (error) {
    db.close();
    throw isBusy(error) && isBeingMoved(path) ? movedByAnother(path) : error;
  }
  db.close();
  moveFormer(path);
  return connect(path);
}

/** Opens a connection for queries, which sees committed data and blocks no writes. */
export function openReader(path: string): Database.Database {
  refuseLogLeft(path);
  const db = new Database(path, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  db.pragma('query_only = ON');
  return db;
}

/**
 * Reads a database without changing it, beside other processes.
 * @throws if the file is not a database, or cannot be read
 */
export function inspect<T>(path: string, read: (db: Database.Database) => T): T {
  const db = openReader(path);
  try {
    return read(db);
  } finally {
    db.close();
  }
}

const OTHERS = 0o007;
const OWNER_ONLY = 0o600;

/**
 * Creates the database with mode 0600, whatever the umask; SQLite gives its log the same mode. An old database that
 * everybody may read is closed to others. One that only a group may read stays so: an operator wanted that.
 */
function closeToOthers(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    // An existing file is not opened here: closing it would drop SQLite's locks on it. SQLite meets other errors itself.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') tighten(path);
  }
}

function tighten(path: string): void {
  const isThere = statSync(path, { throwIfNoEntry: false })?.isFile();
  const real = isThere ? realpathSync(path) : path;
  for (const file of isThere ? [real, `${real}-wal`, `${real}-shm`] : []) {
    const stat = statSync(file, { throwIfNoEntry: false });
    // The mode of another user's file cannot be changed; the doctor reports it.
    if (stat && stat.mode & OTHERS && stat.uid === process.getuid?.()) chmodSync(file, OWNER_ONLY);
  }
}

/** Makes the schema in a new database, and extends that of an older one. */
function migrate(db: Database.Database, path: string): void {
  db.transaction(() => {
    const version = versionOf(db);
    if (version > SCHEMA_VERSION) {
      throw new KitError(
        'STORE_UNUSABLE',
        `${path} has schema version ${version} and this program knows ${SCHEMA_VERSION}: run the newer program`,
      );
    }
    if (version === SCHEMA_VERSION) return;
    if (version === 0) {
      db.exec(schema);
      markZeroed(db)();
    }
    for (const sql of extensions.slice(Math.max(0, version - MOVED_VERSION))) db.exec(sql);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  }).immediate();
}
