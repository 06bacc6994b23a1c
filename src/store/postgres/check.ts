import { type Finding, findingsOf } from '../../base/finding.ts';
import type { Db } from '../dialect.ts';
import { VERSION, versionProblem } from '../schema.ts';
import { inTransaction, versionOf } from './engine.ts';
import { reasonOf } from './reasons.ts';
import { Servers } from './servers.ts';

interface Facts {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  readonly standby: boolean;
  readonly fsync: string;
  readonly pages: string;
  readonly commit: string;
  readonly vacuum: string;
  readonly most: number;
  readonly reserved: number;
  readonly connected: number;
  readonly oldest: number | undefined;
}

const FACTS = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
  pg_encoding_to_char(encoding) AS encoding, pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS pages, current_setting('synchronous_commit') AS commit, current_setting('autovacuum') AS vacuum,
  current_setting('max_connections')::int AS most, current_setting('superuser_reserved_connections')::int AS reserved,
  (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connected,
  (SELECT max(extract(epoch FROM now() - xact_start))::int FROM pg_stat_activity WHERE backend_xmin IS NOT NULL
    AND pid <> pg_backend_pid()) AS oldest
  FROM pg_database WHERE datname = current_database()`;

const OLDEST_SERVER = 140_000;
/** While a snapshot is held, vacuum removes nothing that is newer. In seconds. */
const LONG_SNAPSHOT = 300;

interface Given {
  readonly url: string;
  readonly secretsKey: Buffer | undefined;
  readonly connections: number;
}

/**
 * The doctor's checks of a PostgreSQL server: whether it keeps what it commits, and can go on doing so. They change nothing.
 * @param connections DATABASE_POOL
 * @returns whether the store can be opened without changing anything either
 */
export async function* checkServer({
  url,
  secretsKey,
  connections,
}: Given): AsyncGenerator<Finding, boolean, undefined> {
  let servers: Servers | undefined;
  try {
    servers = new Servers(url, 1);
    const { facts, version } = await inTransaction(servers, 'BEGIN READ ONLY', factsOf);
    if (!facts) throw new Error('the server gave no answer');
    const schema = schemaOf(version);
    yield serverOf(facts);
    yield schema;
    yield durabilityOf(facts);
    yield connectionsOf(facts, connections);
    yield vacuumOf(facts);
    if (!secretsKey)
      yield findingsOf('key').fail('SECRETS_KEY is not set: give it that of the other processes');
    return schema.result === 'ok' && !facts.standby && secretsKey !== undefined;
  } catch (error) {
    yield findingsOf('database').fail(
      `cannot check the PostgreSQL database of DATABASE_URL: ${reasonOf(error)}`,
    );
    return false;
  } finally {
    await servers?.close();
  }
}

async function factsOf(db: Db): Promise<{ readonly facts: Facts | undefined; readonly version: number }> {
  const [facts] = await db.all<Facts>(FACTS);
  return { facts, version: await versionOf(db) };
}

function serverOf({ version, number, standby, encoding }: Facts): Finding {
  const { ok, fail } = findingsOf('server');
  const text = `PostgreSQL ${version}`;
  if (number < OLDEST_SERVER) return fail(`${text}: upgrade it to 14 or newer`);
  if (standby) return fail(`${text}, a standby, takes no writes: name the primary in DATABASE_URL`);
  if (encoding !== 'UTF8')
    return fail(`${text}, and the database is encoded in ${encoding}: make one of UTF8`);
  return ok(text);
}

function schemaOf(version: number): Finding {
  const { ok, warn, fail } = findingsOf('database');
  if (version === 0)
    return warn('it has no tables yet: the first start makes them; if there were some, check DATABASE_URL');
  const problem = versionProblem('the database of DATABASE_URL', version);
  if (problem !== undefined) return fail(problem);
  const text = `schema version ${version}`;
  return version < VERSION ? warn(`${text}: the next start brings it to ${VERSION}`) : ok(text);
}

function durabilityOf({ fsync, pages, commit }: Facts): Finding {
  const { ok, warn, fail } = findingsOf('durability');
  const text = `fsync ${fsync}, full_page_writes ${pages}, synchronous_commit ${commit}`;
  if (fsync !== 'on') return fail(`${text}: an acknowledged event can be lost; set fsync = on`);
  if (commit === 'off')
    return fail(`${text}: an acknowledged event can be lost; set synchronous_commit = on`);
  if (pages !== 'on')
    return warn(`${text}: set full_page_writes = on, unless the disk writes pages of 8 KiB whole`);
  return ok(`${text}: a commit is on disk when it returns`);
}

function connectionsOf({ most, reserved, connected }: Facts, pool: number): Finding {
  const { ok, warn, fail } = findingsOf('connections');
  const usable = most - reserved;
  const text = `DATABASE_POOL ${pool}; max_connections ${most}, ${reserved} of them reserved, ${connected} connected`;
  const advice = 'lower DATABASE_POOL, raise max_connections, or put PgBouncer between';
  if (pool > usable) return fail(`${text}: one process may ask for more than there are; ${advice}`);
  return connected + pool > usable ? warn(`${text}: no room for one more process; ${advice}`) : ok(text);
}

function vacuumOf({ vacuum, oldest }: Facts): Finding {
  const { ok, warn, fail } = findingsOf('vacuum');
  if (vacuum !== 'on')
    return fail('autovacuum is off: claims become slower with each event; set autovacuum = on');
  if ((oldest ?? 0) > LONG_SNAPSHOT)
    return warn(
      `a transaction is open for ${oldest} s, and vacuum removes nothing newer: end it (pg_stat_activity shows it)`,
    );
  return ok('autovacuum on');
}
