import pg from 'pg';
import { systemClock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import type { Session } from './session.ts';
import { type Server, serversOf } from './url.ts';

export interface DatabaseOptions {
  /** `postgres://USER@HOST:PORT/DATABASE`; several hosts with commas between, of which the one that takes writes is used */
  readonly url: string;
  /** how many connections there are at most */
  readonly connections: number;
  /** shown by the server for each connection */
  readonly name: string;
}

/** What a transaction is for. */
export interface Purpose {
  /** false: a crash of the database server may undo it; nothing that was acknowledged depends on it */
  readonly isDurable?: boolean | undefined;
  readonly isReadOnly?: boolean | undefined;
  /** the same statements again and again, by keys: they stay prepared, where the connection is not shared */
  readonly isFrequent?: boolean | undefined;
}

/** How many connections a process makes at most, where nothing is said. */
export const DEFAULT_CONNECTIONS = 10;
/** How long is waited for a connection; then the answer is 503. */
const CONNECT_MS = 5000;
/** Where the server did not end a statement by its own time-outs, as it cannot be reached. */
const ANSWER_MS = 30_000;
/** Whatever the database has for a default. */
const ISOLATION = 'ISOLATION LEVEL READ COMMITTED';
/**
 * Set within each transaction: behind PgBouncer a connection is only lent for one. Statements are not compiled: a query that
 * the planner thinks expensive, as many look-ups by keys are, took up to 4 s for that and 5 ms to run. A
 * process that stands still within a transaction gives up what it has locked after three seconds, so that the others go on.
 */
const LIMITS = `SET LOCAL jit = off; SET LOCAL statement_timeout = '15s'; SET LOCAL lock_timeout = '5s';
  SET LOCAL idle_in_transaction_session_timeout = '3s'`;
/**
 * What writes looks rows up by their keys. A plan that is kept was made when the tables may have been empty, where to read all of a
 * table looks cheapest; so it may not.
 */
const BY_KEYS = `SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`;
/** A deadlock or a conflict with another transaction: nothing was done, and the next time it goes through. */
const CONFLICTS = new Set(['40001', '40P01']);
const MOST_TRIES = 10;
/** The server has no connection left: for anybody, or for this role or database. */
const NONE_LEFT = '53300';
/** The server takes no writes, as it is a standby or became one: said of a statement that writes, and of a transaction that is to. */
const READ_ONLY = new Set(['25006', '0A000']);
/** What a connection does not know of a prepared statement any more, or what another one's client has prepared there. */
const NOT_PREPARED = new Set(['26000', '42P05']);
/** A prepared statement was made before its tables were changed. The code is one of many things, the routine is not. */
const OUTDATED = 'RevalidateCachedQuery';
/** What pg says after ANSWER_MS. */
const NO_ANSWER = 'Query read timeout';
/** Where the server says that it no longer waits for its standby, although what it committed may be on its own disk only. */
const WAITS_FOR_STANDBY = 'SyncRepWaitForLSN';

/** Connections to a PostgreSQL server, lent for one transaction or statement each. */
export class Database {
  readonly #pools: readonly pg.Pool[];
  #current = 0;
  #prepares = true;
  #closed: Promise<unknown> | undefined;

  constructor({ url, connections, name }: DatabaseOptions) {
    const servers = serversOf(url);
    this.#pools = servers.map((server) =>
      poolOf(server, { connections, name, isOneOfMany: servers.length > 1 }),
    );
  }

  /** Single statements, each committed at once. */
  readonly statements: Session = {
    rows: <R>(sql: string, params: readonly unknown[] = []) =>
      this.#again(() => this.#lent((client) => sessionOf(client).rows<R>(sql, params))),
    script: (sql) => this.#lent((client) => sessionOf(client).script(sql)),
  };

  /**
   * The same of those that come again and again, by keys. Where the database was made read-only for its sessions, as some providers do
   * when its disk is nearly full, what writes fails.
   */
  readonly frequent: Session = {
    rows: <R>(sql: string, params: readonly unknown[] = []) =>
      this.#again(() =>
        this.#lent(async (client) => {
          const isPrepared = this.#isPrepared(client);
          const begin = `BEGIN TRANSACTION ${ISOLATION}; ${limitsOf(client)}; ${onDisk(client)}`;
          // Of what fails, COMMIT commits nothing.
          const [, rows] = await Promise.all([
            client.query(isPrepared ? `${begin}; ${BY_KEYS}` : begin),
            (isPrepared ? preparedSessionOf : sessionOf)(client).rows<R>(sql, params),
            client.query('COMMIT'),
          ]);
          return rows;
        }),
      ),
    script: this.statements.script,
  };

  /**
   * Does work in one transaction, again if it met a conflict. Statements that it does not wait for before it makes the next one are
   * executed in their order. One that may write fails at a standby, also if it only reads: what it read would be old.
   */
  transaction<T>(
    work: (session: Session) => Promise<T>,
    { isDurable = true, isReadOnly = false, isFrequent = false }: Purpose = {},
  ): Promise<T> {
    return this.#again(() =>
      this.#lent(async (client) => {
        const begin = `BEGIN ${ISOLATION} ${isReadOnly ? 'READ ONLY' : 'READ WRITE'}; ${limitsOf(client)};
          ${isDurable ? onDisk(client) : 'SET LOCAL synchronous_commit = off'}`;
        const isPrepared = isFrequent && this.#isPrepared(client);
        const { session, end } = untilEnd(isPrepared ? preparedSessionOf(client) : sessionOf(client));
        try {
          const [, done] = await Promise.all([
            client.query(isPrepared ? `${begin}; ${BY_KEYS}` : begin),
            work(session),
          ]);
          end();
          await client.query('COMMIT');
          return done;
        } catch (error) {
          end();
          // Of a connection that is lost the server does it by itself.
          if (messageOf(error) !== NO_ANSWER) await client.query('ROLLBACK').catch(() => undefined);
          throw error;
        }
      }),
    );
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.all(this.#pools.map((pool) => pool.end()));
    await this.#closed;
  }

  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        const code = codeOf(error) ?? '';
        // Something between us and the server lends another connection for each transaction, although it did not look so.
        if (NOT_PREPARED.has(code)) this.#prepares = false;
        const goesThrough = CONFLICTS.has(code) || NOT_PREPARED.has(code) || isOutdated(error);
        if (!goesThrough || tries === MOST_TRIES) throw error;
      }
    }
  }

  #isPrepared(client: pg.PoolClient): boolean {
    return this.#prepares && seen.get(client)?.isDirect === true;
  }

  /** Lends a connection. One that failed in an unknown way is not used again. */
  async #lent<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const { client, at } = await this.#connect();
    let isLost = false;
    let isConfirmed = true;
    const onError = () => {
      isLost = true;
    };
    const onNotice = ({ routine }: { readonly routine?: string | undefined }) => {
      if (routine === WAITS_FOR_STANDBY) isConfirmed = false;
    };
    client.on('error', onError);
    client.on('notice', onNotice);
    try {
      const done = await use(client);
      if (!isConfirmed)
        throw new Error('the wait for the standby was cancelled, which may not have the commit');
      return done;
    } catch (error) {
      const code = codeOf(error);
      const isReadOnly = READ_ONLY.has(code ?? '') && !isOutdated(error);
      if (isReadOnly || messageOf(error) === NO_ANSWER) this.#leave(at);
      isLost ||=
        code === undefined ||
        isReadOnly ||
        isOutdated(error) ||
        !/^[0-9A-Z]{5}$/.test(code) ||
        /^(57P|08)/.test(code);
      throw error;
    } finally {
      client.off('error', onError);
      client.off('notice', onNotice);
      client.release(isLost);
    }
  }

  async #connect(): Promise<{ readonly client: pg.PoolClient; readonly at: number }> {
    let failure: unknown;
    for (const _ of this.#pools) {
      if (this.#closed) break;
      const at = this.#current;
      const pool = this.#pools[at];
      if (!pool) break;
      try {
        return { client: await connected(pool), at };
      } catch (error) {
        failure = error;
        this.#leave(at);
      }
    }
    throw failure ?? new Error('the store is closed');
  }

  /** The next request looks at the next server first, unless another request has left this one already. */
  #leave(at: number): void {
    if (this.#current === at) this.#current = (at + 1) % this.#pools.length;
  }
}

/** For so long a pool is content with the connections that it got, where the server had no more. */
const CONTENT_MS = 60_000;

/** When the server had no connection left for a pool, and how many the pool may have otherwise. */
const shrunk = new WeakMap<pg.Pool, { readonly at: number; readonly most: number }>();

/**
 * Lends a connection of a pool. Where the server has none left for it, the request waits for one of those that the pool has, like
 * those that come to a pool in full use.
 */
async function connected(pool: pg.Pool): Promise<pg.PoolClient> {
  const now = systemClock.monotonic();
  const before = shrunk.get(pool);
  if (before && now - before.at > CONTENT_MS) {
    pool.options.max = before.most;
    shrunk.delete(pool);
  }
  for (;;) {
    try {
      return await pool.connect();
    } catch (error) {
      const { max } = pool.options;
      if (codeOf(error) !== NONE_LEFT || pool.totalCount === 0 || max === 1) throw error;
      shrunk.set(pool, { at: now, most: shrunk.get(pool)?.most ?? max });
      pool.options.max = max - 1;
    }
  }
}

function isOutdated(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.routine === OUTDATED;
}

interface PoolParts extends Omit<DatabaseOptions, 'url'> {
  readonly isOneOfMany: boolean;
}

function poolOf(server: Server, { connections, name, isOneOfMany }: PoolParts): pg.Pool {
  const pool = new pg.Pool({
    ...server,
    max: connections,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    pipeline: true, // statements are sent before those before them are answered
    types: { getTypeParser },
    verify: (client, done) => verify(client, isOneOfMany, done),
  } as pg.PoolConfig & { verify: (client: pg.PoolClient, done: (error?: Error) => void) => void });
  // A connection may be lost while it is verified, when nobody else listens: its statements fail, and the process must not.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  pool.on('error', () => undefined); // an idle connection was lost; the next request makes another one
  return pool;
}

/** What was seen of a connection when it was made. */
interface Seen {
  /** whether it is the server's own: what is prepared there stays for the next transaction */
  readonly isDirect: boolean;
  /** what its commits waited for */
  readonly commit: string;
  /** whether the server has a limit for whole transactions, as PostgreSQL 17 and newer */
  readonly hasTransactionTimeout: boolean;
}

const seen = new WeakMap<pg.PoolClient, Seen>();

/** A role may have a limit for transactions in general. Ours have one for each statement. */
const limitsOf = (client: pg.PoolClient) =>
  seen.get(client)?.hasTransactionTimeout ? `${LIMITS}; SET LOCAL transaction_timeout = 0` : LIMITS;

/**
 * For a commit that must outlast a crash of the server: it waits as it did when the connection was made, and for the disk at least. A reload of the
 * server's configuration may set `off` for the connections that are there.
 */
function onDisk(client: pg.PoolClient): string {
  const { commit = 'on' } = seen.get(client) ?? {};
  return `SET LOCAL synchronous_commit = ${commit === 'off' ? 'on' : commit}`;
}

/** Looks at a new connection: of several servers the one is meant that takes writes. */
function verify(client: pg.PoolClient, isOneOfMany: boolean, done: (error?: Error) => void): void {
  client
    .query<Omit<Seen, 'isDirect'> & { standby: boolean; pid: number }>(
      `SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS pid, current_setting('synchronous_commit') AS commit,
         current_setting('transaction_timeout', true) IS NOT NULL AS "hasTransactionTimeout"`,
    )
    .then(({ rows: [facts] }) => {
      if (!facts) return done(new Error('the server gave no answer'));
      if (isOneOfMany && facts.standby)
        return done(new Error('the server is a standby, which takes no writes'));
      // PgBouncer and its like make up a number of their own for each client.
      const isDirect = facts.pid === (client as unknown as { readonly processID: number }).processID;
      seen.set(client, { ...facts, isDirect });
      done();
    }, done);
}

const INT8 = 20;

/** Numbers of events and times are far below 2^53. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text');
}

function sessionOf(client: pg.PoolClient): Session {
  return {
    async rows<R>(sql: string, params: readonly unknown[] = []) {
      return (await client.query(sql, [...params])).rows as R[];
    },
    script: async (sql) => void (await client.query(sql)),
  };
}

/** A session up to its end: what one part of a transaction goes on with after another part failed is not executed. */
function untilEnd({ rows, script }: Session) {
  let isOver = false;
  const inTime = <T>(execute: () => Promise<T>): Promise<T> =>
    isOver ? Promise.reject(new Error('the transaction has ended')) : execute();
  const session: Session = {
    rows: (sql, params) => inTime(() => rows(sql, params)),
    script: (sql) => inTime(() => script(sql)),
  };
  const end = () => {
    isOver = true;
  };
  return { session, end };
}

/** The names of statements that are prepared: as many as our own code has, and of texts that are made up no more. */
const names = new Map<string, string>();
const MOST_NAMES = 200;

/** The same with statements that stay prepared on this connection. */
function preparedSessionOf(client: pg.PoolClient): Session {
  return {
    ...sessionOf(client),
    async rows<R>(sql: string, params: readonly unknown[] = []) {
      if (!names.has(sql) && names.size < MOST_NAMES) names.set(sql, `hookkit_${names.size}`);
      const name = names.get(sql);
      return (await client.query({ text: sql, values: [...params], ...(name && { name }) })).rows as R[];
    },
  };
}

/** The SQLSTATE of an error of the server, or the code of one of the network; undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

const WRONG_AUTHORITY =
  "the server's certificate is not of the authority of sslrootcert, or without that of a public one: name its authority's certificate";

/** What pg says of a server that answers without TLS. */
const NO_TLS = 'The server does not support SSL connections';

/** What pg says where it has none to give. */
const NO_PASSWORD = /client password must be a(?: non-empty)? string/;

/** The SQLSTATE of what a role has no right to. */
export const NO_RIGHT = '42501';
/** What to do where the role may not make the schema. */
export const MAY_MAKE =
  'GRANT CREATE ON DATABASE … to the role of DATABASE_URL, or let another role make the schema (CREATE SCHEMA hookkit AUTHORIZATION …)';
/** What to do where it may not use the tables. */
export const MAY_USE =
  'GRANT the role that has made the tables to the role of DATABASE_URL; partitions, too, only their owner can make';
const MAY_CONNECT = 'GRANT CONNECT ON DATABASE … to the role of DATABASE_URL';

/** What to do where transactions may not write. */
export const LET_WRITE = 'ALTER DATABASE or ALTER ROLE … SET default_transaction_read_only = off';

/** What a role has no right to, and what to do. The message may name the database. */
function noRight(message: string, detail = ''): string {
  const text = message.replace(/ database .*/, ' the database');
  if (detail.includes('CONNECT')) return `${text}: ${MAY_CONNECT}`;
  return `${text}: ${/ database /.test(message) ? MAY_MAKE : MAY_USE}`;
}

/** What to do about a connection that fails. The errors' own messages name the user, the host or the database. */
const NO_CONNECTION: Readonly<Record<string, string>> = {
  '28P01':
    'the server refuses the user or the password: correct DATABASE_URL, PGPASSWORD or the password file',
  '28000':
    'the server lets this user not connect from here: see its pg_hba.conf, whether sslmode must be set, and whether it wants a certificate (sslcert, sslkey)',
  '3D000': 'the server has no such database: make it (CREATE DATABASE), or correct DATABASE_URL',
  [NONE_LEFT]: 'the server has no connection left: lower DATABASE_POOL, or raise its max_connections',
  '25006': `the database takes no writes: make room on its disk if that is full, ${LET_WRITE}, or name the primary`,
  '57P03': 'the server is starting or stopping: try again',
  ECONNREFUSED: 'no server listens at the host and port of DATABASE_URL: start it, or correct them',
  ENOTFOUND: 'the host of DATABASE_URL is not known: correct it, or the name service',
  EAI_AGAIN: 'the name service does not answer, so the host of DATABASE_URL cannot be found',
  EHOSTUNREACH: 'the host of DATABASE_URL cannot be reached: look at the network',
  ENETUNREACH: 'the host of DATABASE_URL cannot be reached: look at the network',
  ETIMEDOUT: 'the host of DATABASE_URL does not answer: look at the network and firewalls',
  ...Object.fromEntries(
    ['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY']
      .concat('UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_SIGNATURE_FAILURE')
      .map((code) => [code, WRONG_AUTHORITY]),
  ),
  CERT_HAS_EXPIRED: "the server's certificate has expired: renew it",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate is for another name than the host of DATABASE_URL: correct the one or the other",
};

/** What went wrong, without anything of the URL. */
export function reasonOf(error: unknown): string {
  if (error instanceof KitError) return error.message;
  const message =
    error instanceof AggregateError
      ? (error.errors as unknown[]).map(messageOf).join('; ')
      : messageOf(error);
  const code = codeOf(error);
  if (NO_PASSWORD.test(message))
    return 'the server asks for a password, and none is given: set PGPASSWORD, or write a password file';
  if (message === NO_TLS) return 'the server has no TLS: set ssl = on there, or sslmode=disable';
  if (code === NO_RIGHT) return `${noRight(message, (error as pg.DatabaseError).detail)} (${code})`;
  const known = NO_CONNECTION[code ?? ''];
  if (known) return `${known} (${code})`;
  return `${message || 'no connection'}${code && !message.includes(code) ? ` (${code})` : ''}`;
}
