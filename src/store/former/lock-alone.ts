import { realpathSync } from 'node:fs';
import Database from 'better-sqlite3';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { standStill } from '../../base/stand-still.ts';
import { identityOf, versionOf } from '../sqlite/upkeep.ts';

/** How long other programs may take to end, and how long each try waits for them. */
const WAIT_MS = 5000;
const TRY_MS = 100;
const PAUSE_MS = 50;

/** The new file while a former database is moved into it. The process that does that has locked both. */
export function movingOf(file: string): string {
  return `${file}.migrating`;
}

/**
 * Opens a database so that no other program can read or write it until the connection is closed.
 * @returns undefined if its version is not wanted, or if another file took its place: another process has moved it
 * @throws KitError STORE_UNUSABLE if other programs have it open
 */
export function lockAlone(
  file: string,
  isWanted: (version: number) => boolean,
): Database.Database | undefined {
  try {
    return lockWithin(WAIT_MS, file, isWanted);
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw isBeingMoved(file) ? movedByAnother(file) : inUse(file);
  }
}

/** The same for other programs that end within so many milliseconds. @throws SQLite's error, see `isBusy`, if they do not */
export function lockWithin(
  waitMs: number,
  file: string,
  isWanted: (version: number) => boolean,
): Database.Database | undefined {
  const end = systemClock.monotonic() + waitMs;
  for (;;) {
    try {
      return lockIf(file, isWanted);
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() >= end) throw error;
    }
    // Two that start at once keep each other out while both try, so their pauses differ.
    standStill(PAUSE_MS * (1 + Math.random()));
  }
}

function lockIf(file: string, isWanted: (version: number) => boolean): Database.Database | undefined {
  const connect = () => new Database(file, { timeout: TRY_MS, fileMustExist: true });
  // Another process that has moved it works with it already, and would keep this one from locking it.
  const reading = connect();
  try {
    if (!isWanted(versionOf(reading))) return undefined;
  } finally {
    reading.close();
  }
  const identity = identityOf(file);
  const db = connect();
  try {
    // Before the first access: then all other connections must be closed, also those that only read.
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
    // Another process may have moved the database since it was opened: this is the former file then, under its second name.
    if (identityOf(file) === identity && isWanted(versionOf(db))) return db;
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  return undefined;
}

/** Whether another connection keeps this one out. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}

/** Whether another process moves a database now. */
export function isBeingMoved(path: string): boolean {
  let db: Database.Database | undefined;
  try {
    db = new Database(movingOf(realpathSync(path)), { readonly: true, timeout: 0 });
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    return false;
  } catch (error) {
    return isBusy(error);
  } finally {
    db?.close();
  }
}

export function movedByAnother(path: string): KitError {
  return new KitError(
    'STORE_UNUSABLE',
    `another process is moving ${path} into the schema of this version: wait until that process says that it is done, and start again`,
  );
}

function inUse(file: string): KitError {
  return new KitError(
    'STORE_UNUSABLE',
    `${file} has the schema of a former version, and other programs have it open: end them (fuser ${file} lists them), and start again`,
  );
}
