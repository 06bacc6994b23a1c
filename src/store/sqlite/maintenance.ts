import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { pause, systemClock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import type { Raw } from '../engine.ts';
import { opened, transactionsOn, versionOf } from './connection.ts';
import { advised, refuseMissing, unusable } from './file.ts';

/**
 * Copies a database while others write to it, and checks the copy, which has its name only then. Nobody but its owner may read it.
 * @returns how many events and bytes the copy has
 * @throws KitError STORE_UNUSABLE if there is no database, or it cannot be copied; INPUT_INVALID if the file is there already
 */
export function backUp(path: string, file: string): { events: number; bytes: number } {
  refuseMissing(path);
  if (existsSync(file)) throw new KitError('INPUT_INVALID', `${file} is there already: give another name`);
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

/** Opens a database for a move, and keeps others out. @throws KitError STORE_UNUSABLE, also if another program has it open */
export async function openExclusively(path: string): Promise<Raw> {
  const database = opened(path, 'write', (db) => {
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

/** For so long compacting waits for others: each time, and while nobody can write. */
const PATIENCE_MS = 60_000;
const HELD_MS = 500;

/** Has what was deleted gone from the file and its log. @throws KitError STORE_UNUSABLE, also if others never leave it alone */
export async function compact(path: string): Promise<void> {
  const db = opened(path, 'write');
  try {
    db.pragma(`busy_timeout = ${PATIENCE_MS}`);
    db.exec('VACUUM');
    db.pragma('wal_checkpoint(PASSIVE)'); // most of it, while others write
    db.pragma(`busy_timeout = ${HELD_MS}`);
    const until = systemClock.now() + PATIENCE_MS;
    while (db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) !== 0) {
      if (systemClock.now() > until) throw new Error('database is locked');
      await pause(systemClock, HELD_MS);
    }
  } catch (cause) {
    const reason = advised(messageOf(cause));
    throw unusable(`what was deleted may still be in the file ${path}: do this again: ${reason}`, cause);
  } finally {
    db.close();
  }
}
