import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { inMib, MIB } from '../../base/size-text.ts';
import { syncFile } from '../../base/sync-file.ts';
import { targetOf } from '../is-there.ts';
import { networkOf, tokenDigest } from '../quarantine-keys.ts';
import { say } from '../say.ts';
import { SCHEMA_VERSION, schema } from '../sqlite/schema.ts';
import { bytesOf, identityOf, setPageSize, versionOf, ZEROED } from '../sqlite/upkeep.ts';
import { lockAlone, movingOf } from './lock-alone.ts';
import { migrations } from './migrations.ts';
import { copyRows, isCopied, problemsOf } from './move-rows.ts';

/** What the new file takes of the disk at most, for each byte of the former one, and beside that. */
const NEW_FOR_FORMER = 1.2;
const EXTRA_BYTES = 16 * MIB;
/** How much longer a database of an earlier version becomes before it is moved, at most. */
const GROWS_TO = 2;
const CACHE_KIB = 64 * 1024;
const SAY_EVERY_MS = 3000;

/** The row of `meta` that says which file a new one is filled from, and how that file was then. */
const SOURCE = 'moved from';

/** Whether databases of this version are moved. Those of earlier versions are brought to the last one in place first. */
export function isFormer(version: number): boolean {
  return version > 0 && version <= migrations.length;
}

/** The name of a former database once it was moved; a later one gets a number, too. */
function backupOf(file: string, version = migrations.length): string {
  return `${file}.version-${version}`;
}

/** The former databases that stand beside a database. */
export function backupsOf(path: string): string[] {
  const file = existsSync(path) ? realpathSync(path) : path;
  const firsts = migrations.map((_, index) => basename(backupOf(file, index + 1)));
  const isBackup = (name: string) =>
    firsts.some((first) => name.startsWith(first) && /^(\.\d+)?$/.test(name.slice(first.length)));
  const names = existsSync(dirname(file)) ? readdirSync(dirname(file)) : [];
  return names.filter(isBackup).map((name) => join(dirname(file), name));
}

/** How much of the disk a move of so many bytes takes. One of an earlier version is kept, and grows, with a journal of what it was. */
export function neededFor(bytes: number, version: number): number {
  const needed = (size: number) => size * NEW_FOR_FORMER + EXTRA_BYTES;
  return version === migrations.length ? needed(bytes) : needed(bytes * GROWS_TO) + bytes * (1 + GROWS_TO);
}

/**
 * Moves a former database into a new file, which takes its place. The former file stays beside it, under another name. No
 * other program can use the database meanwhile. A kill at any time loses nothing, and the next call goes on from there.
 * Nothing is done if another process has moved it meanwhile.
 * @throws KitError STORE_UNUSABLE if there is no room, or if other programs have the database open
 */
export function moveFormer(path: string): void {
  const file = realpathSync(path); // a link to the database stays one
  const db = lockAlone(file, isFormer);
  if (!db) return;
  try {
    move(db, file);
  } finally {
    db.close();
  }
}

/** @param db the former database; only this connection can read or write it until it is closed */
function move(db: Database.Database, file: string): void {
  const moving = movingOf(file);
  if (versionOf(db) < migrations.length) remove(draftOf(file, versionOf(db))); // a kill left it, and it is not whole
  checkRoom(file, roomFor(moving, neededFor(bytesOf(db), versionOf(db))));
  makeFile(moving, file);
  // The whole database is in its one file then. A former program that opens it later has to write to it first, which SQLite
  // refuses once the file has another name.
  db.pragma('journal_mode = DELETE');
  if (versionOf(db) < migrations.length) copyEarlier(db, file);
  bringToLast(db);
  const earlier = keepEarlier(file);
  const bytes = bytesOf(db);
  const needed = roomFor(moving, neededFor(bytes, migrations.length));
  rmSync(`${file}-shm`, { force: true }); // a killed process left it
  const source = sourceOf(file);
  const isResumed = isFilledFrom(moving, source);
  if (!isResumed) begin(moving, file, source);
  const backup = freeName(backupOf(file), file);
  const events = db.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0;
  say(
    `${isResumed ? 'going on to move' : 'moving'} ${file} into the schema of version ${SCHEMA_VERSION}: ${events} events in ${inMib(bytes)}, for which it needs up to ${inMib(needed)} more of the disk; the former database stays as ${backup}`,
  );
  fill(db, moving, events);
  syncFile(moving);
  syncFile(dirname(file));
  keep(file, backup);
  place(moving, file);
  syncFile(dirname(file));
  const kept = [...earlier, `${backup} (${inMib(bytes)})`].join(' and ');
  say(`moved ${file}: delete the former database ${kept} once npx hookkit doctor finds nothing wrong`);
}

/** The name of the copy of a database of an earlier version, until that was brought to the last one. */
function draftOf(file: string, version: number): string {
  return `${backupOf(file, version)}.unfinished`;
}

/**
 * Copies a database of an earlier version, which is changed in place before it is moved, so that the program of that version can go on
 * with it. A copy through SQLite: to open the file by itself would end the locks that this process has on it. A kill leaves a copy that the
 * next call makes again, or one that is whole, as the database was brought to the last version behind it.
 */
function copyEarlier(db: Database.Database, file: string): void {
  const version = versionOf(db);
  say(
    `keeping ${file} (${inMib(bytesOf(db))}) as ${backupOf(file, version)}, as it has version ${version}: it is brought to version ${migrations.length} before it is moved, in one step; if that is interrupted, it is as before`,
  );
  const draft = draftOf(file, version);
  makeFile(draft, file);
  db.prepare('VACUUM INTO ?').run(draft);
  syncFile(draft);
  syncFile(dirname(file));
}

/** Gives copies of earlier versions their names. @returns these, with sizes */
function keepEarlier(file: string): string[] {
  const versions = migrations
    .map((_, index) => index + 1)
    .filter((version) => existsSync(draftOf(file, version)));
  return versions.map((version) => {
    const copy = freeName(backupOf(file, version), file);
    renameSync(draftOf(file, version), copy);
    syncFile(dirname(file));
    return `${copy} (${inMib(statSync(copy).size)})`;
  });
}

/** Of the bytes that a move takes, at most, those that the new file does not have yet. */
function roomFor(moving: string, most: number): number {
  const written = statSync(moving, { throwIfNoEntry: false })?.size ?? 0;
  return Math.max(EXTRA_BYTES, most - written);
}

function checkRoom(file: string, needed: number): void {
  const { bavail, bsize } = statfsSync(dirname(file));
  const free = bavail * bsize;
  if (free >= needed) return;
  throw new KitError(
    'STORE_UNUSABLE',
    `moving it into the schema of version ${SCHEMA_VERSION} needs ${inMib(needed)} in ${dirname(file)}, where ${inMib(free)} are free: make room there, and start again; nothing was changed`,
  );
}

/** Makes the new file, which the users of the former one may read and write, and nobody else. */
function makeFile(moving: string, file: string): void {
  const { mode, uid, gid } = statSync(file);
  try {
    if (!existsSync(moving)) closeSync(openSync(moving, 'wx', 0o600));
    const made = statSync(moving);
    if (made.uid !== uid || made.gid !== gid) chownSync(moving, uid, gid);
    chmodSync(moving, mode & 0o777);
  } catch (cause) {
    throw new KitError(
      'STORE_UNUSABLE',
      `cannot make ${moving} for the owner of the database (${messageOf(cause)}): run this as that user, who must be allowed to write to the directory; nothing was changed`,
      { cause },
    );
  }
}

/** Brings a database of an earlier version to the last one whose databases were changed in place. */
function bringToLast(db: Database.Database): void {
  const version = versionOf(db);
  if (version === migrations.length) return;
  // A migration computes columns of the quarantine with these functions.
  db.function('token_digest', { deterministic: true }, (token) => tokenDigest(String(token)));
  db.function('network_of', { deterministic: true }, (source) => networkOf(String(source)));
  db.pragma('secure_delete = FAST');
  db.transaction(() => {
    for (const sql of migrations.slice(version)) db.exec(sql);
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

/** Tells a file and its content from every other: a program that works with the former database changes it. */
function sourceOf(file: string): Buffer {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return Buffer.from([dev, ino, size, mtimeNs].join(' '));
}

/** Whether an earlier call has begun to fill the new file, and the former database was not used since. */
function isFilledFrom(moving: string, source: Buffer): boolean {
  const db = new Database(moving);
  try {
    const stored = db.prepare<[string], Buffer>('SELECT value FROM meta WHERE name = ?').pluck().get(SOURCE);
    return stored?.equals(source) ?? false;
  } catch {
    return false; // it has no tables yet, or was damaged when the power failed
  } finally {
    db.close();
  }
}

/** Begins with an empty file. */
function begin(moving: string, file: string, source: Buffer): void {
  remove(moving);
  makeFile(moving, file);
  const db = new Database(moving);
  try {
    setPageSize(db);
    db.transaction(() => {
      db.exec(schema);
      const set = db.prepare('INSERT INTO meta VALUES (?, ?)');
      set.run(SOURCE, source);
      set.run(ZEROED, Buffer.alloc(0));
    })();
  } finally {
    db.close();
  }
}

function remove(moving: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${moving}${suffix}`, { force: true });
}

/** Fills the new file, and checks that it is whole. */
function fill(db: Database.Database, moving: string, events: number): void {
  db.prepare('ATTACH ? AS moved').run(moving);
  db.pragma('moved.locking_mode = EXCLUSIVE');
  db.pragma('moved.synchronous = NORMAL');
  db.pragma(`moved.cache_size = -${CACHE_KIB}`);
  if (!isCopied(db)) copyRows(db, sayNowAndThen(events));
  const problems = problemsOf(db);
  if (problems.length === 0) db.pragma('moved.journal_mode = WAL');
  db.exec('DETACH moved');
  if (problems.length === 0) return;
  remove(moving);
  throw new KitError(
    'STORE_UNUSABLE',
    `the new file is not whole (${problems.join('; ')}), and was removed; the database is as it was: start again, and if that does not help, run the version before this one`,
  );
}

function sayNowAndThen(events: number): (moved: number) => void {
  let saidAt = systemClock.monotonic();
  return (moved) => {
    const now = systemClock.monotonic();
    if (now - saidAt < SAY_EVERY_MS) return;
    saidAt = now;
    say(
      moved < events
        ? `moved ${moved} of ${events} events`
        : `moved all ${events} events, now the lists of them`,
    );
  };
}

/** The name, or the same with a number if another backup has it. */
function freeName(name: string, file: string): string {
  const identity = identityOf(file);
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${name}.${number}`;
    const there = identityOf(candidate);
    if (there === undefined || there === identity) return candidate;
  }
}

/** Gives the former database its second name. So the first is never free, and no process makes a new database there. */
function keep(file: string, backup: string): void {
  if (existsSync(backup)) return; // a killed process gave it the name
  try {
    linkSync(file, backup);
  } catch {
    renameSync(file, backup); // the file system has no hard links
  }
  syncFile(dirname(file));
}

/** Gives the new file the name of the database, unless another process has done that while no file had it. */
function place(moving: string, path: string): void {
  try {
    renameSync(moving, path);
  } catch (error) {
    if (existsSync(moving) || !existsSync(path)) throw error;
  }
}

/**
 * Ends a move that was cut short while neither file had the name of the database.
 * @throws KitError STORE_UNUSABLE if a new file was begun, and the former one is neither in its place nor kept beside it
 */
export function finishMove(path: string): void {
  const file = targetOf(path);
  const moving = movingOf(file);
  if (existsSync(file) || !existsSync(moving)) return;
  if (!backupsOf(file).some((backup) => isFilledFrom(moving, sourceOf(backup)))) {
    throw new KitError(
      'STORE_UNUSABLE',
      `${file} is not there, and ${moving} is a part of a former database: move the former database back to ${file}; to begin with an empty one, delete ${moving}`,
    );
  }
  place(moving, file);
}
