import type { MonotonicClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { say } from '../say.ts';
import type { Database } from './database.ts';
import { MIGRATE_ALONE } from './locks.ts';
import { codeOf } from './reasons.ts';
import { schema } from './schema.ts';
import type { Session } from './session.ts';

/**
 * What makes each version from the one before it. Once released, an entry never changes. Processes of the former version go
 * on while it runs and after it: an entry only adds what they can do without, and takes away what the release before it no
 * longer uses. Acks wait for the locks that it has, so it takes a moment, however large the tables are: it rewrites none, and
 * gives none an index.
 */
export const migrations: readonly string[] = [schema];

/** The names of our tables, without their schema and the partitions. Somebody may have others in it. */
export const TABLES = [...migrations.join('\n').matchAll(/CREATE TABLE hookkit\.(\w+) \(/g)].map(
  ([, name = '']) => name,
);
/** All of them but `meta`, with their schema: what a database holds. */
export const ALL_BUT_META = TABLES.filter((name) => name !== 'meta').map((name) => `hookkit.${name}`);
/** The sequences of their numbers. */
export const SEQUENCES = ['ledger_event_seq', 'quarantine_id_seq'] as const;

/** The first version of the server that has all that is used. */
export const OLDEST_SERVER = 140_000;

/** Of a standby, and what to do. */
export const TAKES_NO_WRITES =
  'which takes no writes: name the primary in DATABASE_URL, or all hosts with commas between';
/** The encoding that a database must have. */
export const UTF8 = 'UTF8';
/** Of another encoding, what to do. */
export const MAKE_ONE_OF_UTF8 = "make one with ENCODING 'UTF8'";
/** What to do where commits do not wait for the disk. */
export const WAIT_FOR_DISK = 'ALTER DATABASE or ALTER ROLE … SET synchronous_commit = on';

/** Of a server that does not write to its disk what it says to have written. */
export const SET_FSYNC =
  'fsync is not on, so a power cut can destroy the database: set fsync = on in postgresql.conf';

interface Facts {
  readonly server: number;
  readonly encoding: string;
  readonly synchronous: string;
  readonly standby: boolean;
  readonly has_schema: boolean;
}

/**
 * How long a migration waits for a lock, while acks wait behind it: for longer than deadlock_timeout (1 s), after which the
 * server ends an autovacuum that is in the way, and for less than the 5 s after which those acks would be refused.
 */
const LOCK_LIMIT = "SET LOCAL lock_timeout = '2s'";
/** Meanwhile acks go on. */
const PAUSE_MS = 1000;
/** For so long transactions may be in the way: our own end after 15 s. */
const MIGRATE_WITHIN_MS = 60_000;
/** A lock was not to be had in time. */
const LOCKED = '55P03';

/**
 * Brings the schema to the present version, whatever other processes do or start at the same time.
 * @param mustExist whether it must be there in some version
 * @throws KitError STORE_UNUSABLE if the server or the database cannot be used
 */
export async function migrate(
  database: Database,
  clock: MonotonicClock,
  { mustExist = false }: { readonly mustExist?: boolean | undefined } = {},
): Promise<void> {
  const [facts] = await database.statements.rows<Facts>(
    `SELECT current_setting('server_version_num')::integer AS server,
       current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS synchronous,
       pg_is_in_recovery() AS standby, to_regclass('hookkit.meta') IS NOT NULL AS has_schema`,
  );
  if (!facts) throw new Error('no answer');
  if (facts.server < OLDEST_SERVER) throw unusable('the server is older than PostgreSQL 14: upgrade it');
  if (facts.encoding !== UTF8)
    throw unusable(`the database is encoded in ${facts.encoding}: ${MAKE_ONE_OF_UTF8}`);
  if (facts.synchronous === 'off') {
    throw unusable(`synchronous_commit is off, so that acknowledged events could be lost: ${WAIT_FOR_DISK}`);
  }
  if (facts.standby) throw unusable(`the server is a standby, ${TAKES_NO_WRITES}`);
  const version = facts.has_schema ? await knownVersionOf(database.statements) : 0;
  if (version === migrations.length) return;
  if (mustExist && version === 0)
    throw unusable('nothing of hookkit is in it: correct DATABASE_URL, or start the server on it first');
  const end = clock.monotonic() + MIGRATE_WITHIN_MS;
  for (let said: string | undefined; ; ) {
    const obstacle = await tryToMigrate(database);
    if (obstacle === undefined) return;
    if (obstacle !== said) say(`waiting for the PostgreSQL database: ${obstacle}`);
    said = obstacle;
    if (obstacle === OTHERS) continue;
    if (clock.monotonic() >= end) throw unusable(`${obstacle}, ${WHICH_TRANSACTION}; nothing was changed`);
    await pause(clock, PAUSE_MS);
  }
}

const OTHERS = 'another process changes its schema';
const LOCKS = 'an open transaction keeps its schema from being changed';
const WHICH_TRANSACTION =
  'and docs/scaling.md ("Rolling restarts") has a query that shows it: end it, and start again';

/** @returns what was in the way; undefined once the schema has the present version */
async function tryToMigrate(database: Database): Promise<typeof OTHERS | typeof LOCKS | undefined> {
  let isAlone = false;
  try {
    const from = await database.transaction(async (session) => {
      await session.rows(MIGRATE_ALONE);
      isAlone = true;
      await session.rows(LOCK_LIMIT);
      return bringUpToDate(session);
    });
    if (from > 0 && from < migrations.length)
      say(`changed the schema of the PostgreSQL database from version ${from} to ${migrations.length}`);
    return undefined;
  } catch (error) {
    if (codeOf(error) !== LOCKED) throw error;
    return isAlone ? LOCKS : OTHERS;
  }
}

/** @returns the version that it had */
async function bringUpToDate(session: Session): Promise<number> {
  // IF NOT EXISTS asks for the right to make one, even where there is one.
  const [found] = await session.rows<{ known: boolean }>(
    "SELECT to_regnamespace('hookkit') IS NOT NULL AS known",
  );
  if (!found?.known) await session.rows('CREATE SCHEMA hookkit');
  const from = await knownVersionOf(session);
  if (from === migrations.length) return from;
  for (const migration of migrations.slice(from)) await session.script(migration);
  await session.rows(
    `INSERT INTO hookkit.meta VALUES ('version', convert_to($1::text, 'UTF8'))
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [migrations.length],
  );
  return from;
}

/** The version that the schema has; 0 if there is none. */
export async function versionOf(session: Session): Promise<number> {
  const [known] = await session.rows<{ known: boolean }>(
    "SELECT to_regclass('hookkit.meta') IS NOT NULL AS known",
  );
  if (!known?.known) return 0;
  const [row] = await session.rows<{ version: number }>(
    "SELECT convert_from(value, 'UTF8')::integer AS version FROM hookkit.meta WHERE name = 'version'",
  );
  return row?.version ?? 0;
}

/** The same. @throws KitError STORE_UNUSABLE if it is newer than this program */
async function knownVersionOf(session: Session): Promise<number> {
  const version = await versionOf(session);
  if (version > migrations.length) {
    throw unusable(
      `the database has version ${version} of the schema, which is newer than this program (${migrations.length}): start the newer program`,
    );
  }
  return version;
}

function unusable(why: string): KitError {
  return new KitError('STORE_UNUSABLE', `cannot use the PostgreSQL database: ${why}`);
}
