import fs from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KitError } from '../../base/errors.ts';
import { keyPathOf } from '../secrets/key-file.ts';

/**
 * Whether the file of a SQLite database is there.
 * @throws KitError STORE_UNUSABLE if that cannot be seen: without rights to its directory, any file seems missing; and if it is no file:
 *   of that, errors of SQLite say something else or nothing
 */
export function isThere(path: string): boolean {
  try {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (!stat || stat.isFile()) return stat !== undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const advice = 'run this as the user that the server runs as, or correct DATABASE_URL';
    const message = `cannot look whether there is ${path} (${code}): ${advice}`;
    throw new KitError('STORE_UNUSABLE', message, { cause });
  }
  const advice = 'put a file there, or set another path in DATABASE_URL';
  throw new KitError('STORE_UNUSABLE', `${path} is not a file: ${advice}`);
}

export const replaced = (path: string, by = '') =>
  `${path} was moved, deleted or replaced while it was in use${by}: put it back, and start the process again; if it is gone, stop nothing yet: the process has it open, and docs/operating.md (Back up and restore) says how to copy it`;

/** The files that a process has open; ` (deleted)` stands behind the name of one that is. */
function filesOf(pid: string): string[] {
  try {
    return fs.readdirSync(`/proc/${pid}/fd`).map((fd) => fs.readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return []; // it is of another user, or has ended meanwhile
  }
}

/** The process that has a log of a database open, and another file than the one in the place of the database. Only Linux tells. */
function strangerTo(file: string): string | undefined {
  const processes = fs.existsSync('/proc/self/fd') ? fs.readdirSync('/proc') : [];
  return processes.find((pid) => {
    const files = /^\d+$/.test(pid) ? filesOf(pid) : [];
    const names = files.map((one) => one.replace(' (deleted)', ''));
    return !files.includes(file) && names.includes(`${file}-wal`) && names.includes(`${file}-shm`);
  });
}

/**
 * What is wrong with a database that another process has in use where it was, or that is missing or empty although something of it is there:
 * a server that began with it would have lost everything in silence, and SQLite would read the log of another file into it, or delete a log
 * without its database. Undefined if nothing is.
 */
export function lossAt(path: string): string | undefined {
  const isFile = isThere(path);
  const real = isFile ? fs.realpathSync(path) : resolve(path);
  const stranger = strangerTo(real);
  if (stranger !== undefined) return replaced(path, ` by process ${stranger}`);
  if (isFile && fs.statSync(path).size > 0) return undefined;
  const log = `${real}-wal`;
  const anew = 'to start with an empty database instead, stop the server, and';
  if (fs.statSync(log, { throwIfNoEntry: false })?.size)
    return `${path} is ${isFile ? 'empty' : 'not there'}, although its log is there (${log}), which may have acknowledged notifications that are in no other file: put the database back that the log is of; ${anew} move the log away`;
  const key = keyPathOf(path);
  if (isFile && fs.lstatSync(key, { throwIfNoEntry: false }))
    return `${path} is empty, although there is a key for it (${key}), so a copy or a backup was cut short: put a whole copy there; ${anew} remove the file`;
  return undefined;
}

const OTHERS = 0o007;
const OWNER_ONLY = 0o600;

/**
 * Creates the database with mode 0600, and its directory, whatever the umask; SQLite gives its log the same mode. One that everybody may read is closed to
 * others. One that only a group may read stays so: an operator wanted that.
 */
export function closeToOthers(path: string): void {
  try {
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    fs.closeSync(fs.openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    // An existing file is not opened here: closing it would drop SQLite's locks on it. SQLite meets other errors itself.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return;
  }
  if (!isThere(path)) return; // a link that leads nowhere
  const real = fs.realpathSync(path);
  for (const file of [real, `${real}-wal`, `${real}-shm`]) {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat && stat.mode & OTHERS && stat.uid === process.getuid?.()) fs.chmodSync(file, OWNER_ONLY);
  }
}

/** Advice for the user, by how a message of SQLite begins. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^(unable to open database file|attempt to write a readonly database)/,
    'its directory must exist, and this user must be allowed to write to the directory, to the file, and to its -wal, -shm and -journal files',
  ],
  [
    /^database (schema |table )?is locked/,
    'other programs use it, and fuser lists them: wait for them, or end them',
  ],
  [/^database or disk is full/, 'make room on its disk'],
  [/^file is .*not a database|malformed/, 'restore a backup, or set another path in DATABASE_URL'],
];

/** A message of SQLite, with what the user can do about it where that is known. */
export function advised(message: string): string {
  const [, advice] = ADVICE.find(([said]) => said.test(message)) ?? [];
  return advice === undefined ? message : `${message} (${advice})`;
}
