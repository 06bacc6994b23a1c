import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { type Checks, type DatabaseSize, type Flaw, judged, type StoreSettings } from '../engine.ts';
import { refuseVersion, VERSION } from '../schema.ts';
import { keyPathOf } from '../secrets/vault.ts';
import { versionOf } from './connection.ts';
import { advised, isThere, pathOf, refuseLoss } from './file.ts';

const MIB = 1024 * 1024;
/** Below SCARCE the next backlog may fill the disk; below TOO_LITTLE it is as good as full. */
const SCARCE = 1024 * MIB;
const TOO_LITTLE = 64 * MIB;

/** How much room the disk of a directory has. */
function roomIn(directory: string) {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  if (free < TOO_LITTLE) return { free, room: 'none' } as const;
  return { free, room: free < SCARCE ? 'scarce' : 'enough' } as const;
}

const KEY_GONE =
  'Running processes still have the key: before you stop one, put a copy of the file back, or set SECRETS_KEY to its content. Without a copy, the secrets are lost once the last process stops: then start with a new database, and rotate every webhook.';

/** A process that runs does not notice that its key file is gone. @param secretsKey where it is set, the key is in no file */
function flawOf(path: string, secretsKey: Buffer | undefined): Flaw | undefined {
  const key = keyPathOf(path);
  if (secretsKey || existsSync(key)) return undefined;
  const text = `The key file ${key} is gone: the next start will fail`;
  return { fault: 'key_gone', text, advice: KEY_GONE };
}

/** How large a database is, with its log, how much room its disk has, and whether its key is there. */
export function sizeOf(path: string, secretsKey?: Buffer): DatabaseSize {
  const bytes = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return {
    bytes: bytes.reduce((one, other) => one + other),
    ...roomIn(dirname(resolve(path))),
    flaw: flawOf(path, secretsKey),
  };
}

/** The doctor's checks of a SQLite database before it is opened: disk, database, key file. */
export async function* check({ DATABASE_URL, SECRETS_KEY: secretsKey }: StoreSettings): Checks {
  const path = pathOf(DATABASE_URL);
  yield looked('disk', () => checkDisk(path));
  const database = looked('database', () => checkDatabase(path));
  yield database;
  yield secretsKey ? findingsOf('key').ok('SECRETS_KEY is set') : looked('key', () => checkKeyFile(path));
  // Every process sets both when it opens the database, and refuses to start without them.
  if (database.result === 'ok') yield looked('durability', () => checkDurability(dirname(path)));
  return database.result === 'ok';
}

function looked(check: string, look: () => Finding): Finding {
  try {
    return look();
  } catch (error) {
    return findingsOf(check).fail(advised(messageOf(error)));
  }
}

/** Checks whether the disk of the database has room, and whether this user may write there. */
function checkDisk(path: string): Finding {
  // The first start makes what is missing.
  let directory = dirname(resolve(path));
  while (!existsSync(directory)) directory = dirname(directory);
  accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
  const { free, room } = roomIn(directory);
  return judged('disk', `${directory} is writable, ${Math.floor(free / MIB)} MiB free`, [
    [room === 'none', 'FAIL', 'make room, or nothing will be accepted soon'],
    [room === 'scarce', 'warn', 'make room, or set RETENTION_DAYS'],
  ]);
}

/** File systems, by the magic numbers of statfs(2): tmpfs and ramfs; NFS, SMB (three) and 9p, on whose locks SQLite cannot rely. */
const IN_MEMORY = [16914836, 2240043254];
const SHARED = [26985, 20859, 4283649346, 4266872130, 16914839];

function checkDurability(directory: string): Finding {
  const { type } = statfsSync(directory);
  const itIs = `but ${directory} is`;
  return judged('durability', 'journal_mode wal, synchronous 2 (FULL): a commit is on disk when it returns', [
    [IN_MEMORY.includes(type), 'warn', `${itIs} in memory: a restart of the machine loses all`],
    [SHARED.includes(type), 'FAIL', `${itIs} NFS, SMB or 9p, where that does not hold: use a local disk`],
  ]);
}

function checkDatabase(path: string): Finding {
  refuseLoss(path);
  if (!isThere(path)) {
    const none = `there is no database at ${path}: the first start makes it; if there was one, check DATABASE_URL`;
    return findingsOf('database').warn(none);
  }
  const db = new Database(path);
  try {
    const version = versionOf(db);
    refuseVersion(path, version);
    const condition = db.pragma('quick_check(1)', { simple: true });
    if (condition === 'ok') db.exec('BEGIN IMMEDIATE; ROLLBACK'); // others may hold the lock
    return judged('database', `${path}, schema version ${version}, quick_check ${condition}`, [
      [version < VERSION, 'warn', `the next start brings it to ${VERSION}`],
      [condition !== 'ok', 'FAIL', 'it is damaged: stop the receiver, and restore a backup'],
    ]);
  } finally {
    db.close();
  }
}

const GROUP_READS =
  "its group may read it: chmod 600 it, or where its volume sets the mode (Kubernetes' fsGroup), give its content as SECRETS_KEY";

/** Checks that no other user can read the key file. Opening the secrets shows whether it is the right key. */
function checkKeyFile(database: string): Finding {
  const path = keyPathOf(database);
  const { fail, skipped } = findingsOf('key');
  if (!isThere(path)) {
    const gone = isThere(database) && statSync(database).size > 0 && flawOf(database, undefined);
    return gone ? fail(`${gone.text}. ${gone.advice}`) : skipped(`${path} is made with the first database`);
  }
  const mode = statSync(path).mode & 0o777;
  return judged('key', `${path}, mode ${mode.toString(8)}`, [
    [(mode & 0o007) > 0, 'FAIL', `every user may read it: chmod 600 ${path}`],
    [(mode & 0o070) > 0, 'warn', GROUP_READS],
  ]);
}
