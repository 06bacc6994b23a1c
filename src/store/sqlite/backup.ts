import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { KitError, messageOf } from '../../base/errors.ts';
import { openReader } from './connection.ts';
import { isThere } from './file.ts';

/**
 * Copies a database while others write to it, and checks the copy, which has its name only then. Nobody but its owner may read it.
 * @returns how many events and bytes the copy has
 * @throws KitError STORE_UNUSABLE if there is no database, or it cannot be copied; INPUT_INVALID if the file is there already
 */
export async function backUp(path: string, file: string): Promise<{ events: number; bytes: number }> {
  if (!isThere(path)) throw new KitError('STORE_UNUSABLE', `there is no database at ${path}`);
  if (existsSync(file)) throw new KitError('INPUT_INVALID', `${file} is there already: give another name`);
  const part = `${file}.part`;
  const source = openReader(path);
  try {
    rmSync(part, { force: true });
    closeSync(openSync(part, 'wx', 0o600));
    await source.backup(part);
    const events = checked(part);
    renameSync(part, file);
    return { events, bytes: statSync(file).size };
  } catch (cause) {
    if (cause instanceof KitError) throw cause;
    throw new KitError('STORE_UNUSABLE', `cannot back up to ${file}: ${messageOf(cause)}`, { cause });
  } finally {
    source.close();
  }
}

/** @returns how many events a copy has, which then is one file without a log @throws KitError STORE_UNUSABLE if it is damaged */
function checked(copy: string): number {
  const db = new Database(copy);
  try {
    db.pragma('journal_mode = DELETE');
    const condition = db.pragma('quick_check(1)', { simple: true });
    if (condition === 'ok') return Number(db.prepare('SELECT count(*) FROM events').pluck().get());
    throw new KitError(
      'STORE_UNUSABLE',
      `the copy ${copy} is damaged (${condition}): run npx hookkit doctor`,
    );
  } finally {
    db.close();
  }
}
