import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KitError, messageOf } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { inMib, MIB } from '../base/size-text.ts';
import { backupsOf, isFormer, neededFor } from './former/move.ts';
import { isThere } from './is-there.ts';
import { keyPathOf } from './key-file.ts';
import { inspect, LONGEST_LOG } from './sqlite/open-sqlite.ts';
import { SCHEMA_VERSION as KNOWN } from './sqlite/schema.ts';
import { bytesOf, problemsOf, versionOf } from './sqlite/upkeep.ts';
import { cutShort, logLeft } from './unopened.ts';

// The doctor's checks of a SQLite database before it opens it: the disk, the database file and the key file.

/** Below SCARCE the next backlog may fill the disk; below TOO_LITTLE it is as good as full. */
const SCARCE = 1024 * MIB;
const TOO_LITTLE = 64 * MIB;
/** The kit's own queries never make the log as long as this. */
const VERY_LONG_LOG = 4 * LONGEST_LOG;
/** The mode bits of everybody but the owner. */
const NOT_OWNER = 0o077;

/**
 * All checks of a SQLite database that can be done before it is opened. They change nothing.
 * @returns whether the store can be opened without changing anything either
 */
export async function* checkSqlite(
  path: string,
  secretsKey: Buffer | undefined,
): AsyncGenerator<Finding, boolean, undefined> {
  yield checkDisk(path);
  const { finding, isUsable } = checkDatabase(path);
  yield finding;
  yield checkKeyFile(keyPathOf(path), { SECRETS_KEY: secretsKey });
  return isUsable;
}

/** Checks whether the disk of the database has room, and whether this user may write there. */
export function checkDisk(databasePath: string): Finding {
  const { ok, warn, fail } = findingsOf('disk');
  const directory = nearest(dirname(resolve(databasePath)));
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    if (existsSync(databasePath)) accessSync(databasePath, constants.R_OK | constants.W_OK);
  } catch (error) {
    return fail(`this user may not write to ${directory} (${messageOf(error)}): correct its owner and mode`);
  }
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const text = `${directory} is writable, ${Math.floor(free / MIB)} MiB free`;
  if (free < TOO_LITTLE) return fail(`${text}: make room, or nothing will be accepted soon`);
  return free < SCARCE ? warn(`${text}: make room, or set RETENTION_DAYS`) : ok(text);
}

/** The directory, or its nearest parent that exists: the first start makes the rest. */
function nearest(directory: string): string {
  return existsSync(directory) ? directory : nearest(dirname(directory));
}

/** Checks the database without changing it. The store would bring an older one up to date. */
export function checkDatabase(path: string): { readonly finding: Finding; readonly isUsable: boolean } {
  const { warn, fail } = findingsOf('database');
  const unusable = (finding: Finding) => ({ finding, isUsable: false });
  try {
    const left = logLeft(path);
    if (left !== undefined) return unusable(fail(left));
    if (!isThere(path)) {
      return unusable(
        warn(`there is none at ${path}: the first start makes it; if there was one, check DATABASE_URL`),
      );
    }
  } catch (error) {
    return unusable(fail(messageOf(error)));
  }
  const { uid, mode } = statSync(path);
  if (uid !== 0 && uid === process.getuid?.() && (mode & 0o200) === 0)
    // no mode binds root
    // SQLite would make files beside it of the same mode, which stay and keep the database from being opened.
    return unusable(fail(`its owner may not write ${path}: chmod u+w ${path}`));
  try {
    const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0; // before this check reads for long itself
    const [version, problems, bytes] = inspect(path, (db) => [versionOf(db), problemsOf(db), bytesOf(db)]);
    if (version > KNOWN) {
      return unusable(
        fail(`${path} has schema version ${version} and this program knows ${KNOWN}: run the newer program`),
      );
    }
    if (problems.length > 0) {
      return unusable(
        fail(`${path} is damaged (${problems.join('; ')}): stop the server and restore a backup`),
      );
    }
    const wrong = bytes === 0 ? cutShort(path) : undefined;
    if (wrong !== undefined) return unusable(fail(wrong));
    if (version < KNOWN) {
      const said = `${path} has schema version ${version}: the next start`;
      const needed = inMib(neededFor(statSync(path).size + logBytes, version));
      return unusable(
        warn(
          isFormer(version)
            ? `${said} moves it into a new file of version ${KNOWN}, needs ${needed} of disk for that, and keeps this one: see docs/upgrading.md`
            : `${said} brings it to ${KNOWN}`,
        ),
      );
    }
    return { finding: access(path) ?? log(path, logBytes) ?? intact(path, version), isUsable: true };
  } catch (error) {
    if ((error as { code?: unknown }).code === 'SQLITE_READONLY_ROLLBACK')
      return unusable(
        fail(
          `${path}-journal is of a copy or backup that was cut short: remove both, and then put a whole copy there`,
        ),
      );
    return unusable(
      fail(
        /readonly|unable to open/.test(messageOf(error))
          ? `${path} cannot be opened by this user (${messageOf(error)}): run this as the user that the server runs as`
          : `${path} cannot be read (${messageOf(error)}): restore a backup, or check DATABASE_URL`,
      ),
    );
  }
}

/**
 * Checks that this program can read a database without bringing it to another version: for lists that must change nothing.
 * @throws KitError STORE_UNUSABLE with the reason
 */
export function assertPresentVersion(path: string): void {
  const version = inspect(path, versionOf);
  if (version === KNOWN) return;
  const text = `the database has schema version ${version}, and this program reads version ${KNOWN}`;
  throw new KitError('STORE_UNUSABLE', text);
}

function intact(path: string, version: number): Finding {
  return findingsOf('database').ok(`${path}, schema version ${version}, intact`);
}

/** The finding for a log that grows without end; undefined if it does not. */
function log(path: string, bytes: number): Finding | undefined {
  if (bytes <= VERY_LONG_LOG) return undefined;
  return findingsOf('database').warn(
    `its log ${path}-wal has ${Math.floor(bytes / MIB)} MiB, as a program keeps a read transaction open: end that program; fuser ${path} lists those that have it open`,
  );
}

/** The finding for a database that others may read; undefined if only its owner may. */
function access(path: string): Finding | undefined {
  const { warn, fail } = findingsOf('database');
  const open = openTo(path);
  return (
    open &&
    (open.isEverybody ? fail : warn)(
      `${open.who} may read ${open.file} (mode ${open.mode}): chmod 600 ${open.file}, unless this is meant`,
    )
  );
}

/** Finds out who beside the owner may read the database or its log; undefined if only the owner may. */
function openTo(path: string) {
  if (process.platform === 'win32') return undefined; // which does not tell modes
  for (const file of [path, `${path}-wal`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    const isEverybody = (mode & 0o007) !== 0;
    if (!isEverybody && (mode & 0o070) === 0) continue;
    const who = isEverybody ? 'everybody' : 'its group';
    return { file, who, isEverybody, mode: `0${(mode & 0o777).toString(8)}` };
  }
  return undefined;
}

/**
 * Names the former databases that a move has left.
 * @param found what was found of the database before
 */
export function checkBackups(path: string, found: readonly Finding[]): Finding[] {
  // A full disk is no reason to keep one.
  const isWell =
    found.some(({ check }) => check === 'events') &&
    !found.some(({ check, result }) => result === 'FAIL' && check !== 'disk');
  let backups: readonly string[];
  try {
    backups = backupsOf(path);
  } catch (error) {
    return [findingsOf('backup').skipped(messageOf(error))];
  }
  return backups.map((backup) => {
    const advice = isWell
      ? 'delete it, as the database is well'
      : 'keep it until the checks above are well; docs/upgrading.md says how to go back to it';
    return findingsOf('backup').warn(
      `${backup} (${inMib(statSync(backup).size)}) is the database before it was moved: ${advice}`,
    );
  });
}

/** Checks that no other user can read the key file. Opening the secrets shows whether it is the right key. */
export function checkKeyFile(
  path: string,
  { SECRETS_KEY }: { readonly SECRETS_KEY?: Buffer | undefined },
): Finding {
  const { ok, fail, skipped } = findingsOf('key');
  if (SECRETS_KEY) return ok('SECRETS_KEY is set');
  try {
    if (!isThere(path)) return skipped(`there is no ${path}: it is made with the first database`);
  } catch (error) {
    return fail(messageOf(error));
  }
  if (process.platform === 'win32') return skipped('Windows does not tell modes');
  const mode = statSync(path).mode & 0o777;
  const octal = mode.toString(8).padStart(4, '0');
  if (mode & NOT_OWNER) return fail(`others may read ${path} (mode ${octal}): chmod 600 ${path}`);
  return ok(`${path}, mode ${octal}`);
}
