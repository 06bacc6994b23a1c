import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { keyPathOf } from '../key-file.ts';
import { VERSION, versionProblem } from '../schema.ts';
import { openReader, versionOf } from './connection.ts';
import { isThere, lossAt } from './file.ts';

const MIB = 1024 * 1024;
/** Below SCARCE the next backlog may fill the disk; below TOO_LITTLE it is as good as full. In MiB. */
const SCARCE = 1024;
const TOO_LITTLE = 64;

/**
 * The doctor's checks of a SQLite database before it is opened: disk, database, key file. They change nothing.
 * @returns whether the store can be opened without changing anything either
 */
export function* checkSqlite(
  path: string,
  secretsKey: Buffer | undefined,
): Generator<Finding, boolean, undefined> {
  yield checkDisk(path);
  const database = checkDatabase(path);
  yield database;
  yield checkKeyFile(keyPathOf(path), secretsKey);
  if (database.result === 'ok')
    // Every process sets both when it opens the database, and refuses to start without them.
    yield findingsOf('durability').ok(
      'journal_mode wal, synchronous 2 (FULL): a commit is on disk when it returns',
    );
  return database.result === 'ok';
}

/** Checks whether the disk of the database has room, and whether this user may write there. */
function checkDisk(path: string): Finding {
  const { ok, warn, fail } = findingsOf('disk');
  // The first start makes what is missing.
  let directory = dirname(resolve(path));
  while (!existsSync(directory)) directory = dirname(directory);
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    return fail(`this user may not write to ${directory} (${messageOf(error)}): correct its owner and mode`);
  }
  const { bavail, bsize } = statfsSync(directory);
  const free = Math.floor((bavail * bsize) / MIB);
  const text = `${directory} is writable, ${free} MiB free`;
  if (free < TOO_LITTLE) return fail(`${text}: make room, or nothing will be accepted soon`);
  return free < SCARCE ? warn(`${text}: make room, or set RETENTION_DAYS`) : ok(text);
}

function checkDatabase(path: string): Finding {
  const { ok, warn, fail } = findingsOf('database');
  try {
    const loss = lossAt(path);
    if (loss !== undefined) return fail(loss);
    if (!isThere(path))
      return warn(`there is none at ${path}: the first start makes it; if there was one, check DATABASE_URL`);
    const db = openReader(path);
    try {
      const version = versionOf(db);
      const problem = versionProblem(path, version);
      if (problem !== undefined) return fail(problem);
      if (version < VERSION)
        return warn(`${path} has schema version ${version}: the next start brings it to ${VERSION}`);
      const damage = db.pragma('quick_check(1)', { simple: true });
      if (damage !== 'ok')
        return fail(`${path} is damaged (${damage}): stop the server and restore a backup`);
    } finally {
      db.close();
    }
    const mode = statSync(path).mode & 0o777;
    const octal = `0${mode.toString(8)}`;
    if (mode & 0o007) return fail(`everybody may read ${path} (mode ${octal}): chmod 600 ${path}`);
    return ok(`${path}, schema version ${VERSION}, intact`);
  } catch (error) {
    return fail(messageOf(error));
  }
}

/** Checks that no other user can read the key file. Opening the secrets shows whether it is the right key. */
function checkKeyFile(path: string, secretsKey: Buffer | undefined): Finding {
  const { ok, fail, skipped } = findingsOf('key');
  if (secretsKey) return ok('SECRETS_KEY is set');
  try {
    if (!isThere(path)) return skipped(`there is no ${path}: it is made with the first database`);
  } catch (error) {
    return fail(messageOf(error));
  }
  if (process.platform === 'win32') return skipped('Windows does not tell modes');
  const mode = statSync(path).mode & 0o777;
  const octal = mode.toString(8).padStart(4, '0');
  if (mode & 0o077) return fail(`others may read ${path} (mode ${octal}): chmod 600 ${path}`);
  return ok(`${path}, mode ${octal}`);
}
