import type { Clock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { Database, DEFAULT_CONNECTIONS } from './database.ts';
import { TIME_THERE } from './database-clock.ts';
import {
  MAKE_ONE_OF_UTF8,
  migrations,
  OLDEST_SERVER,
  SEQUENCES,
  SET_FSYNC,
  TABLES,
  TAKES_NO_WRITES,
  UTF8,
  versionOf,
  WAIT_FOR_DISK,
} from './migrations.ts';
import { partitionsOf } from './partitions.ts';
import { LET_WRITE, MAY_MAKE, MAY_USE, reasonOf } from './reasons.ts';
import type { Session } from './session.ts';

// The doctor's checks of a PostgreSQL server and the database there: first all facts, in one transaction that only reads, then what
// they mean.

/** Further apart, times in the log and in tokens no longer fit together. */
const MOST_APART_MS = 1000;
/** While a snapshot is held, vacuum removes nothing that is newer. */
const LONG_SNAPSHOT_S = 300;
/** Of what a standby holds, the server knows no time: five minutes of a busy one have about so many transactions. */
const LONG_SNAPSHOT_AGE = 200_000;
const MANY_DEAD = 100_000;
/** Seven times as many dead rows of lanes had this room, with their entries in indexes: 175 bytes each. */
const MUCH_ROOM_BYTES = 128 * 1024 * 1024;
/** No row takes more, with its entries in the indexes: the server keeps longer texts elsewhere, and fills a part of each page. */
const ROOM_OF_ROW_BYTES = 4096;
const LONG_LAG_S = 10;
const LARGE_LAG_BYTES = 64 * 1024 * 1024;
const MIB = 1024 * 1024;
const NO_TABLES = 'there are no tables yet';

/** What holds vacuum back most. */
interface Oldest {
  readonly who: string;
  /** what ends it */
  readonly end: string;
  /** how long it is open; null where the server does not know */
  readonly seconds: number | null;
  /** how many transactions began since */
  readonly age: number;
}

/** What a server says of itself. */
export interface ServerFacts {
  readonly version: string;
  readonly versionNumber: number;
  readonly encoding: string;
  /** of our schema; 0 if the database has none */
  readonly schemaVersion: number;
  /** whether the role may make the schema, or its tables where the schema is there */
  readonly mayMake: boolean;
  /** tables that the role may not read and write, and sequences that it may not use */
  readonly refused: readonly string[];
  /** `on`: transactions may not write, unless they say that they do */
  readonly readOnly: string;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousCommit: string;
  /** empty: commits wait for no standby */
  readonly synchronousStandbys: string;
  readonly autovacuum: string;
  readonly trackCounts: string;
  /** whether it is a standby, which takes no writes */
  readonly isStandby: boolean;
  /** whether the role may see what other roles do */
  readonly seesAll: boolean;
  readonly maxConnections: number;
  readonly reservedConnections: number;
  readonly connected: number;
  /** of the role or the database, the smaller one; undefined if neither has one */
  readonly connectionLimit: number | undefined;
  /** milliseconds since the Unix epoch, by the server */
  readonly now: number;
  readonly standbys: readonly Standby[];
  /** tables whose autovacuum was turned off */
  readonly notVacuumed: readonly string[];
  readonly partitions: readonly string[];
  /** partitions of all other months that have rows */
  readonly strays: readonly string[];
  /** the transaction that keeps vacuum from removing most */
  readonly oldest: Oldest | undefined;
  readonly hotTables: readonly HotTable[];
}

/** A table of which rows come and go all the time. */
interface HotTable {
  readonly name: string;
  readonly dead: number;
  readonly live: number;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

interface Standby {
  readonly name: string | null;
  /** null if the role may not see it */
  readonly state: string | null;
  readonly sync: string | null;
  /** null while nothing is written */
  readonly lagSeconds: number | null;
  readonly lagBytes: number | null;
}

/** How this process stands to the server. */
export interface Here {
  /** milliseconds since the Unix epoch, by this machine at the time of `ServerFacts.now` */
  readonly now: number;
  /** how many milliseconds that may be wrong */
  readonly uncertainty: number;
  /** DATABASE_POOL */
  readonly connections: number;
}

interface ServerCheck {
  /** see `DatabaseOptions` */
  readonly url: string;
  readonly clock: Clock;
  /** how many each receiver makes at most */
  readonly connections?: number | undefined;
}

/**
 * Checks whether the server keeps what it commits, and whether it can go on doing so. It changes nothing.
 * @returns whether the store can be opened without changing anything either
 */
export async function* checkServer({
  url,
  clock,
  connections = DEFAULT_CONNECTIONS,
}: ServerCheck): AsyncGenerator<Finding, boolean, undefined> {
  let database: Database | undefined;
  try {
    database = new Database({ url, connections: 1, name: 'hookkit doctor' });
    const { facts, asked, answered } = await database.transaction((session) => readFacts(session, clock), {
      isReadOnly: true,
    });
    yield* judge(facts, { now: (asked + answered) / 2, uncertainty: (answered - asked) / 2, connections });
    return !facts.isStandby && schema(facts).result === 'ok';
  } catch (error) {
    const reason = reasonOf(error);
    yield findingsOf('database').fail(
      error instanceof KitError ? reason : `cannot check the PostgreSQL database of DATABASE_URL: ${reason}`,
    );
    return false;
  } finally {
    await database?.close();
  }
}

/** What the facts mean, and what to do. */
export function judge(facts: ServerFacts, here: Here): readonly Finding[] {
  return [
    server(facts),
    schema(facts),
    durability(facts),
    replication(facts),
    room(facts, here),
    time(facts, here),
    partitions(facts),
    vacuum(facts),
    snapshots(facts),
    bloat(facts),
  ];
}

function server({ version, versionNumber, isStandby, encoding }: ServerFacts): Finding {
  const { ok, fail } = findingsOf('server');
  const text = `PostgreSQL ${version}`;
  if (versionNumber < OLDEST_SERVER) return fail(`${text}: upgrade it to 14 or newer`);
  if (isStandby) return fail(`${text}, a standby, ${TAKES_NO_WRITES}`);
  if (encoding !== UTF8)
    return fail(`${text}, and the database is encoded in ${encoding}: ${MAKE_ONE_OF_UTF8}`);
  return ok(text);
}

function schema({ schemaVersion, mayMake, refused, readOnly }: ServerFacts): Finding {
  const { ok, warn, fail } = findingsOf('database');
  const known = migrations.length;
  if (readOnly !== 'off')
    return fail(`default_transaction_read_only is ${readOnly}, so it takes no writes: ${LET_WRITE}`);
  if (schemaVersion === 0) {
    if (!mayMake) return fail(`it has no tables yet, and this role may not make them: ${MAY_MAKE}`);
    return warn(
      'it has no tables yet: the first start makes them; if there were some, check DATABASE_URL, or wait for the standby',
    );
  }
  const text = `schema version ${schemaVersion}`;
  if (schemaVersion > known) return fail(`${text}, and this program knows ${known}: run the newer program`);
  if (refused.length > 0) return fail(`${text}, and this role may not use ${refused.join(', ')}: ${MAY_USE}`);
  return schemaVersion < known ? warn(`${text}: the next start brings it to ${known}`) : ok(text);
}

function durability(facts: ServerFacts): Finding {
  const { ok, warn, fail } = findingsOf('durability');
  const { fsync, fullPageWrites, synchronousCommit: commit, synchronousStandbys } = facts;
  const text = `fsync ${fsync}, full_page_writes ${fullPageWrites}, synchronous_commit ${commit}`;
  if (fsync !== 'on') {
    return fail(`${text}: ${SET_FSYNC}`);
  }
  if (commit === 'off') {
    return fail(`${text}: an acknowledged event can be lost; ${WAIT_FOR_DISK}`);
  }
  if (fullPageWrites !== 'on') {
    return warn(`${text}: set full_page_writes = on, unless the disk writes pages of 8 KiB whole`);
  }
  if (synchronousStandbys !== '' && (commit === 'local' || commit === 'remote_write')) {
    return warn(
      `${text}: a commit is not on the standby's disk when it returns; set synchronous_commit = on`,
    );
  }
  return ok(`${text}: a commit is on disk when it returns`);
}

function replication({ isStandby, standbys, synchronousStandbys, seesAll }: ServerFacts): Finding {
  const { ok, warn, fail, skipped } = findingsOf('replication');
  if (isStandby) return skipped('this server is a standby: ask the primary');
  if (standbys.length > 0 && (!seesAll || standbys.some(({ state }) => state === null))) {
    return warn(
      `${standbys.length} connected, and this role may not read their lag: GRANT pg_read_all_stats to it`,
    );
  }
  const isWaitedFor = ({ sync }: Standby) => sync === 'sync' || sync === 'quorum';
  if (synchronousStandbys !== '' && !standbys.some(isWaitedFor)) {
    return fail(
      'synchronous_standby_names names standbys and none of them is connected, so no commit returns: start one, or change the setting',
    );
  }
  if (standbys.length === 0)
    return ok('no standby is connected: this server is the only copy beside backups');
  const text = standbys.map(textOf).join('; ');
  const isLate = standbys.some(
    ({ lagSeconds, lagBytes }) => (lagSeconds ?? 0) > LONG_LAG_S || (lagBytes ?? 0) > LARGE_LAG_BYTES,
  );
  if (isLate)
    return warn(`${text}: look at the network and the standby's disk; a failover would lose the lag`);
  return ok(
    standbys.some(isWaitedFor)
      ? text
      : `${text}; commits wait for none, so a failover loses what was not sent`,
  );
}

function textOf({ name, state, sync, lagSeconds, lagBytes }: Standby): string {
  const lag = `${(lagSeconds ?? 0).toFixed(1)} s and ${((lagBytes ?? 0) / MIB).toFixed(1)} MiB behind`;
  return `${name || 'a standby'} ${state}, ${sync}, ${lag}`;
}

function room(facts: ServerFacts, { connections }: Here): Finding {
  const { ok, warn, fail } = findingsOf('connections');
  const { maxConnections, reservedConnections, connectionLimit = maxConnections, connected } = facts;
  const usable = Math.min(maxConnections - reservedConnections, connectionLimit);
  const limits = [
    `max_connections ${maxConnections}, ${reservedConnections} of them reserved`,
    connectionLimit < maxConnections && `a limit of ${connectionLimit} for this role or database`,
    `${connected} connected`,
  ];
  const text = `DATABASE_POOL ${connections}; ${limits.filter(Boolean).join(', ')}`;
  const advice = 'lower DATABASE_POOL, raise max_connections, or put PgBouncer between';
  if (connections > usable) return fail(`${text}: one process may ask for more than there are; ${advice}`);
  const processes = Math.floor(Math.max(0, usable - connected) / connections);
  if (processes === 0) return warn(`${text}: no room for one more process; ${advice}`);
  return ok(`${text}: room for ${processes} more of these processes`);
}

function time({ now }: ServerFacts, here: Here): Finding {
  const { ok, warn } = findingsOf('time');
  const apart = here.now - now;
  const text = `this machine's clock is ${Math.abs(apart / 1000).toFixed(1)} s ${apart < 0 ? 'behind' : 'ahead of'} the server's`;
  if (Math.abs(apart) > MOST_APART_MS + here.uncertainty)
    return warn(`${text}: let both follow a time server (NTP)`);
  return ok(text);
}

function partitions({ now, partitions: there, strays, schemaVersion }: ServerFacts): Finding {
  const { ok, warn, skipped } = findingsOf('partitions');
  if (schemaVersion === 0) return skipped(NO_TABLES);
  const missing = partitionsOf(now, 1).filter((name) => !there.includes(name));
  if (missing.length > 0 && strays.length > 0) {
    return warn(
      `${missing.join(', ')} not there, and cannot be made while ${strays.join(', ')} has rows of those months: nothing is lost; docs/scaling.md says how to move them`,
    );
  }
  if (missing.length > 0) {
    return warn(
      `${missing.join(', ')} not there: a server makes them when it starts and every hour, unless its role may not, or a long query is in the way`,
    );
  }
  if (strays.length > 0) {
    return warn(
      `${strays.join(', ')} has rows of months that had no partition when they came: nothing is lost; docs/scaling.md says how to move them`,
    );
  }
  return ok('those of this month and the next are there');
}

function vacuum({ autovacuum, trackCounts, notVacuumed }: ServerFacts): Finding {
  const { ok, fail } = findingsOf('vacuum');
  if (autovacuum !== 'on' || trackCounts !== 'on') {
    return fail(
      `autovacuum ${autovacuum}, track_counts ${trackCounts}: claims become slower with each event; set both on in postgresql.conf`,
    );
  }
  if (notVacuumed.length > 0) {
    return fail(
      `autovacuum is off for ${notVacuumed.join(', ')}: ALTER TABLE hookkit.… RESET (autovacuum_enabled)`,
    );
  }
  return ok('autovacuum on');
}

function snapshots({ oldest, seesAll }: ServerFacts): Finding {
  const { ok, warn } = findingsOf('snapshots');
  if (oldest && isLong(oldest)) {
    return warn(
      `${oldest.who} is open for ${lengthOf(oldest)}, and vacuum removes nothing newer: end that program, or ${oldest.end}`,
    );
  }
  if (!seesAll) return warn("this role may not see other roles' transactions: GRANT pg_read_all_stats to it");
  return ok(oldest ? `the oldest is ${lengthOf(oldest)} old, of ${oldest.who}` : 'none is open');
}

function isLong({ seconds, age }: Oldest): boolean {
  return seconds === null ? age > LONG_SNAPSHOT_AGE : seconds > LONG_SNAPSHOT_S;
}

function lengthOf({ seconds, age }: Oldest): string {
  return seconds === null ? `${age} transactions` : `${Math.round(seconds)} s`;
}

function bloat({ hotTables, schemaVersion }: ServerFacts): Finding {
  const { ok, warn, skipped } = findingsOf('bloat');
  if (schemaVersion === 0) return skipped(NO_TABLES);
  const text = hotTables.map(roomOf).join(', ');
  if (hotTables.some(({ dead }) => dead > MANY_DEAD)) {
    return warn(
      `${text}: autovacuum does not keep up; end long transactions (see snapshots), and then: VACUUM hookkit.work, hookkit.lanes, hookkit.tallies`,
    );
  }
  const large = hotTables.filter(isLarge).map(giveRoomBack);
  if (large.length > 0)
    return warn(
      `${text}: a backlog or a long transaction left it so; once that has ended: ${large.join(', ')}`,
    );
  return ok(text);
}

function roomOf({ name, live, dead, tableBytes, indexBytes }: HotTable): string {
  return `${name} ${live} rows and ${dead} dead in ${Math.round((tableBytes + indexBytes) / MIB)} MiB`;
}

function isLarge({ live, dead, tableBytes, indexBytes }: HotTable): boolean {
  return tableBytes + indexBytes > MUCH_ROOM_BYTES + (live + dead) * ROOM_OF_ROW_BYTES;
}

/** VACUUM makes room for other rows, and gives back only what is at the end of a table. */
function giveRoomBack(table: HotTable): string {
  return isLarge({ ...table, indexBytes: 0 })
    ? `VACUUM FULL hookkit.${table.name} (handling and pages wait for it, acks do not)`
    : `REINDEX TABLE CONCURRENTLY hookkit.${table.name} (nothing waits for it)`;
}

/** Reads all facts, and the time here before and after the server's was asked for. */
export async function readFacts(session: Session, clock: Clock) {
  const asked = clock.now();
  const now = await session.rows<Pick<ServerFacts, 'now'>>(TIME_THERE);
  const answered = clock.now();
  const settings = await session.rows<Settings>(SETTINGS);
  const schemaVersion = await versionOf(session);
  const ofTables = async <R>(sql: string, params: readonly unknown[] = []) =>
    schemaVersion === 0 ? [] : await session.rows<R>(sql, params);
  const refused = await ofTables<{ name: string }>(REFUSED, [NEEDED]);
  const partitions = await ofTables<{ name: string }>(PARTITIONS);
  // What fails would end the transaction.
  const strays = refused.length > 0 ? [] : await ofTables<{ name: string }>(STRAYS);
  const notVacuumed = await ofTables<{ name: string }>(NOT_VACUUMED);
  const [oldest] = await session.rows<NonNullable<ServerFacts['oldest']>>(OLDEST);
  const { connectionLimit, ...others } = theRow(settings);
  const facts: ServerFacts = {
    ...others,
    ...theRow(now),
    schemaVersion,
    connectionLimit: connectionLimit ?? undefined,
    standbys: await session.rows<Standby>(STANDBYS),
    refused: refused.map(({ name }) => name),
    notVacuumed: notVacuumed.map(({ name }) => name),
    partitions: partitions.map(({ name }) => name),
    strays: strays.map(({ name }) => name),
    oldest,
    hotTables: await ofTables(HOT_TABLES),
  };
  return { facts, asked, answered };
}

function theRow<R>([row]: readonly R[]): R {
  if (row === undefined) throw new Error('the server gave no answer');
  return row;
}

interface Settings
  extends Omit<
    ServerFacts,
    | 'now'
    | 'schemaVersion'
    | 'connectionLimit'
    | 'standbys'
    | 'refused'
    | 'notVacuumed'
    | 'partitions'
    | 'strays'
    | 'oldest'
    | 'hotTables'
  > {
  readonly connectionLimit: number | null;
}

/**
 * pg_stat_database counts the connections of all roles for everybody; reserved_connections is one of PostgreSQL 16. A transaction that
 * writes says itself what its commit waits for (see `onDisk`), so the setting of the session is asked for.
 */
const SETTINGS = `
  SELECT current_setting('server_version') AS version,
    current_setting('server_version_num')::integer AS "versionNumber",
    current_setting('server_encoding') AS encoding,
    CASE WHEN to_regnamespace('hookkit') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
      ELSE has_schema_privilege('hookkit', 'CREATE') END AS "mayMake",
    current_setting('default_transaction_read_only') AS "readOnly",
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS "fullPageWrites",
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit",
    current_setting('synchronous_standby_names') AS "synchronousStandbys",
    current_setting('autovacuum') AS autovacuum,
    current_setting('track_counts') AS "trackCounts",
    pg_is_in_recovery() AS "isStandby",
    pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS "seesAll",
    current_setting('max_connections')::integer AS "maxConnections",
    current_setting('superuser_reserved_connections')::integer
      + coalesce(current_setting('reserved_connections', true)::integer, 0) AS "reservedConnections",
    (SELECT coalesce(sum(numbackends), 0)::integer FROM pg_stat_database) AS connected,
    (SELECT least(
       (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
       (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user))) AS "connectionLimit"`;

/** A backup that is under way looks like a standby. */
const STANDBYS = `
  SELECT application_name AS name, state, sync_state AS sync,
    extract(epoch FROM flush_lag)::float8 AS "lagSeconds",
    pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END,
      flush_lsn)::float8 AS "lagBytes"
  FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup' ORDER BY application_name`;

const NEEDED = [...TABLES, ...SEQUENCES];

/** Of a partition the rights to its table count. */
const REFUSED = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'hookkit'::regnamespace AND relkind IN ('r', 'p', 'S') AND NOT relispartition
    AND relname = ANY($1) AND NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE')
      ELSE has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE') END
  ORDER BY relname`;

const NOT_VACUUMED = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'hookkit'::regnamespace
    AND reloptions && ARRAY['autovacuum_enabled=false', 'autovacuum_enabled=off', 'autovacuum_enabled=no', 'autovacuum_enabled=0']
  ORDER BY relname`;

/** Names written out: the role hookkit has the schema hookkit in its search path, so regclass would leave it away. */
const PARTITIONS = `
  SELECT 'hookkit.' || relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  WHERE inhparent IN ('hookkit.bodies'::regclass, 'hookkit.attempts'::regclass)`;

const STRAYS = `
  SELECT 'hookkit.bodies_other' AS name WHERE EXISTS (SELECT FROM hookkit.bodies_other)
  UNION ALL SELECT 'hookkit.attempts_other' WHERE EXISTS (SELECT FROM hookkit.attempts_other)`;

/**
 * Vacuum keeps what a snapshot or an unfinished write of this database may still see. It does not wait for another vacuum.
 * What was prepared for a commit in two phases stays so until somebody ends it. A standby with hot_standby_feedback holds back what its
 * queries may see, by its connection or its slot.
 */
const OLDEST = `
  SELECT who, "end", seconds, age FROM (
    SELECT 'the transaction of pid ' || pid AS who, 'SELECT pg_terminate_backend(' || pid || ')' AS "end",
      extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
      greatest(age(backend_xmin), age(backend_xid)) AS age
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
      AND backend_type <> 'autovacuum worker'
    UNION ALL
    SELECT 'the prepared transaction ' || gid, 'ROLLBACK PREPARED ' || quote_literal(gid),
      extract(epoch FROM clock_timestamp() - prepared)::float8, age(transaction)
    FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'a transaction on the standby ' || application_name, 'set hot_standby_feedback = off there', NULL,
      age(backend_xmin)
    FROM pg_stat_replication
    UNION ALL
    SELECT 'what the replication slot ' || slot_name || ' holds',
      'SELECT pg_drop_replication_slot(' || quote_literal(slot_name) || ') if nobody follows it any more', NULL, age(xmin)
    FROM pg_replication_slots) AS open
  WHERE age IS NOT NULL
  ORDER BY coalesce(seconds > ${LONG_SNAPSHOT_S}, age > ${LONG_SNAPSHOT_AGE}) DESC, age DESC, seconds DESC LIMIT 1`;

/**
 * After a crash the server has counted nothing, and knows what the last vacuum found. So it does of sizes; to ask the files would wait
 * for a VACUUM FULL that gives room back just now.
 */
const HOT_TABLES = `
  SELECT tables.relname AS name, n_dead_tup AS dead, greatest(n_live_tup, reltuples::bigint) AS live,
    relpages * current_setting('block_size')::bigint AS "tableBytes",
    (SELECT coalesce(sum(index.relpages), 0)::bigint * current_setting('block_size')::bigint
     FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid WHERE indrelid = relid) AS "indexBytes"
  FROM pg_stat_user_tables AS tables JOIN pg_class ON pg_class.oid = relid
  WHERE schemaname = 'hookkit' AND tables.relname IN ('lanes', 'tallies', 'work') ORDER BY tables.relname`;
