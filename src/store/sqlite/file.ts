import fs from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { sqlitePathOf } from '../../base/url.ts';
import { unusable } from '../engine.ts';
import { keyPathOf } from '../secrets/vault.ts';

/** The database that keeps nothing, for tests of handlers. */
export const IN_MEMORY = ':memory:';

export const pathOf = (url: string) => sqlitePathOf(url) ?? '';

/**
 * Whether the file of a SQLite database is there.
 * @throws KitError STORE_UNUSABLE if that cannot be seen: without rights to its directory, any file seems missing; and if it is no file:
 *   of that, errors of SQLite say something else or nothing
 */
export function isThere(path: string): boolean {
  let stat: fs.Stats | undefined;
  try {
    stat = fs.statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    const advice = 'run this as the user of the receiver, or correct DATABASE_URL';
    throw unusable(`cannot see whether ${path} exists (${messageOf(cause)}): ${advice}`);
  }
  if (stat?.isFile() === false)
    throw unusable(`${path} is not a file: put a file there, or set another path in DATABASE_URL`);
  return stat !== undefined;
}

/** Refuses a database that is not there, for what never creates one. @throws KitError STORE_UNUSABLE */
export function refuseMissing(path: string): void {
  if (isThere(path)) return;
  refuseLoss(path);
  const advice = 'run this where the receiver runs, or correct DATABASE_URL';
  throw unusable(`there is no database at ${path}: ${advice}`);
}

export const replaced = (path: string, by = '') =>
  `${path} was moved, deleted or replaced while it was in use${by}: put it back, and start the process again; if it is gone, do not stop the process, which still has it open: docs/operating.md (Back up and restore) says how to copy it`;

/** The process that has a log of a database open, and another file than the one in the place of the database. Only Linux tells. */
function strangerTo(file: string): string | undefined {
  const processes = fs.existsSync('/proc/self/fd') ? fs.readdirSync('/proc') : [];
  return processes.filter(Number).find((pid) => {
    try {
      const links = fs.readdirSync(`/proc/${pid}/fd`).map((fd) => fs.readlinkSync(`/proc/${pid}/fd/${fd}`));
      const names = links.map((link) => link.replace(' (deleted)', '')); // of one that is deleted
      return !links.includes(file) && names.includes(`${file}-wal`) && names.includes(`${file}-shm`);
    } catch {
      return false; // it is of another user, or has ended meanwhile
    }
  });
}

/**
 * Refuses a database that another process has in use where it was, or that is missing or empty although something of it is there: a server
 * that began with it would have lost everything in silence, and SQLite would read the log of another file into it, or delete a log without
 * its database. @throws KitError STORE_UNUSABLE
 */
export function refuseLoss(path: string): void {
  const isFile = isThere(path);
  const real = isFile ? fs.realpathSync(path) : resolve(path);
  const stranger = strangerTo(real);
  if (stranger !== undefined) throw unusable(replaced(path, ` by process ${stranger}`));
  const rests = isFile ? [`${real}-wal`, keyPathOf(path)] : [`${real}-wal`];
  const rest = rests.find((file) => fs.statSync(file, { throwIfNoEntry: false })?.size);
  if (rest === undefined || (isThere(path) && fs.statSync(path).size > 0)) return; // also if another process has made it meanwhile
  const what = `${path} ${isFile ? 'is empty' : 'does not exist'}, although ${rest} exists`;
  const why = 'it was moved or deleted, or a copy was cut short, and acknowledged notifications may be lost';
  const anew = `to start with an empty database instead, stop the receiver, and move ${rest} away`;
  throw unusable(`${what}: ${why}: put back all files of the database; ${anew}`);
}

/**
 * Creates the database with mode 0600, and its directory, whatever the umask; SQLite gives its log the same mode. One that everybody may read is closed to
 * others. One that only a group may read stays so: an operator wanted that.
 */
export function closeToOthers(path: string): void {
  try {
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    fs.closeSync(fs.openSync(path, 'wx', 0o600));
  } catch (error) {
    // An existing file is not opened here: closing it would drop SQLite's locks on it. SQLite meets other errors itself.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return;
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat && stat.mode & 0o007 && stat.uid === process.getuid?.()) fs.chmodSync(file, 0o600);
  }
}

/** Advice for the user, by how a message of SQLite begins. */
const ADVICE: Readonly<Record<string, string>> = {
  'unable to open database file|attempt to write a readonly database':
    'its directory must exist, and this user must be allowed to write to the directory, to the file, and to its -wal, -shm and -journal files',
  'database (schema |table )?is locked':
    'other programs use it, and fuser lists them: wait for them, or end them',
  'database or disk is full': 'make room on its disk',
  'EACCES|EROFS': 'this user may not write to it: correct its owner and mode',
  'file is .*not a database|.*malformed': 'restore a backup, or set another path in DATABASE_URL',
};

/** A message of SQLite, with what the user can do about it where that is known. */
export function advised(message: string): string {
  const [, advice] = Object.entries(ADVICE).find(([said]) => new RegExp(`^(${said})`).test(message)) ?? [];
  return advice === undefined ? message : `${message} (${advice})`;
}
