import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
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

/** Has what was deleted gone from the file and its log. @throws KitError STORE_UNUSABLE */
export function compact(path: string): void {
  opened(path, 'write', (db) => {
    db.exec('VACUUM');
    db.pragma('wal_checkpoint(TRUNCATE)');
  }).close();
}
