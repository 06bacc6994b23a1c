import { pause, systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { findingsOf } from '../../base/finding.ts';
import { type Db, one } from '../dialect.ts';
import { type Checks, judged, type Raw, type StoreSettings } from '../engine.ts';
import { VERSION, versionProblem } from '../schema.ts';
import { END, inTransaction, opening, openTransaction, SESSION, SET_VERSION, versionOf } from './engine.ts';
import { reasonOf } from './reasons.ts';
import { nameOf, Servers } from './servers.ts';

const BEGIN = 'BEGIN; SET LOCAL search_path = hookkit; SET LOCAL jit = off';

/** @throws KitError STORE_UNUSABLE if other programs of the kit are connected */
export async function openRaw(url: string): Promise<Raw> {
  const servers = new Servers(url, 1, 'hookkit move');
  const name = nameOf(url);
  const transact: Raw['transact'] = (work) => inTransaction(servers, BEGIN, work);
  await opening(servers, name, async () => {
    // A connection that was just closed is still seen for a moment.
    for (let look = 1; (await transact((db) => db.all(OTHERS))).length > 0; look++) {
      if (look === 20) throw new KitError('STORE_UNUSABLE', `other programs use ${name}: end them`);
      await pause(systemClock, 250);
    }
  });
  return {
    isPostgres: true,
    transact,
    version: () => transact(versionOf),
    setVersion: (version) => transact(async (db) => void (await db.all(SET_VERSION, { version }))),
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

const OTHERS = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND application_name LIKE 'hookkit%'`;

const NO_KEY =
  'SECRETS_KEY is not set, and with PostgreSQL it must be, the same for all processes: give it that of the others, or make the first one with "openssl rand -base64 32"';

export { openPostgres as openEngine } from './engine.ts';

export function keySourceOf(): never {
  throw new KitError('CONFIG_INVALID', NO_KEY);
}

const OLDEST_SERVER = 140_000;
/** Locks of tables that keep others from writing, but for those of a moment. */
const LOCKS = `SELECT concat(${SESSION}, ' has locked the table hookkit.', relname, ': ', ${END}) AS problem
  FROM pg_locks l JOIN pg_class c ON c.oid = relation JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE granted AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    AND relnamespace = to_regnamespace('hookkit')
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND coalesce(xact_start < now() - interval '1 s', true) ORDER BY xact_start LIMIT 1`;

const SERVER =
  'SELECT json_object_agg(name, setting) AS settings, pg_is_in_recovery() AS standby FROM pg_settings';

/** The doctor's checks of a PostgreSQL server: whether it keeps what it commits, and can go on doing so. */
export async function* check({ DATABASE_URL, SECRETS_KEY }: StoreSettings): Checks {
  try {
    await using servers = new Servers(DATABASE_URL, 1);
    const { settings, standby, version, open } = await inTransaction(servers, 'BEGIN READ ONLY', look);
    const { fsync, full_page_writes: pages, synchronous_commit: commit } = settings;
    yield judged('server', `PostgreSQL ${settings.server_version}`, [
      [Number(settings.server_version_num) < OLDEST_SERVER, 'FAIL', 'upgrade it to 14 or newer'],
      [standby, 'FAIL', 'a standby takes no writes: name the primary in DATABASE_URL'],
      [settings.server_encoding !== 'UTF8', 'FAIL', 'make a database that is encoded in UTF8'],
    ]);
    const problem = versionProblem('the database of DATABASE_URL', version);
    const schema = judged('database', `schema version ${version}`, [
      [version === 0, 'warn', 'the first start makes its tables; if there were some, check DATABASE_URL'],
      [problem !== undefined, 'FAIL', problem],
      [version < VERSION, 'warn', `the next start brings it to ${VERSION}`],
    ]);
    yield schema;
    yield judged('durability', `fsync ${fsync}, full_page_writes ${pages}, synchronous_commit ${commit}`, [
      [fsync !== 'on', 'FAIL', 'an acknowledged event can be lost; set fsync = on'],
      [commit === 'off', 'FAIL', 'an acknowledged event can be lost; set synchronous_commit = on'],
      [pages !== 'on', 'warn', 'set full_page_writes = on, unless the disk writes pages of 8 KiB whole'],
    ]);
    yield judged('vacuum', `autovacuum ${settings.autovacuum}`, [
      [settings.autovacuum !== 'on', 'FAIL', 'claims become slower with each event; set autovacuum = on'],
      [open !== undefined, 'warn', `${open?.text}. ${open?.advice}`],
    ]);
    if (!SECRETS_KEY)
      yield findingsOf('key').fail('SECRETS_KEY is not set: give it that of the other processes');
    return schema.result === 'ok' && !standby && SECRETS_KEY !== undefined;
  } catch (error) {
    const why = `cannot check the database of DATABASE_URL: ${reasonOf(error)}`;
    yield findingsOf('database').fail(why);
    return false;
  }
}

async function look(db: Db) {
  const [lock] = await db.all<{ problem: string }>(LOCKS);
  if (lock) throw new KitError('STORE_UNAVAILABLE', lock.problem);
  const server = await one<{ settings: Record<string, string>; standby: boolean }>(db, SERVER);
  return { ...server, version: await versionOf(db), open: await openTransaction(db) };
}
