import type { Socket } from 'node:net';
import pg from 'pg';
import { systemClock } from '../../base/clock.ts';
import { LIMITS } from './limits.ts';
import { codeOf, NONE_LEFT } from './reasons.ts';
import type { Server } from './url.ts';

/** How long is waited for a connection; then the answer is 503. */
const CONNECT_MS = 5000;

interface PoolParts {
  /** how many at most */
  readonly connections: number;
  /** shown by the server for each connection */
  readonly name: string;
  /** how long is waited for an answer */
  readonly answerMs: number;
  /** of several servers the one is meant that takes writes */
  readonly isOneOfMany: boolean;
}

/** Connections to one server, made when they are needed. */
export function poolOf(server: Server, { connections, name, answerMs, isOneOfMany }: PoolParts): pg.Pool {
  const pool = new pg.Pool({
    ...server,
    max: connections,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: answerMs,
    keepAlive: true,
    pipeline: true, // statements are sent before those before them are answered
    types: { getTypeParser },
    Client: ClosingClient,
    verify: (client, done) => verify(client, isOneOfMany, done),
  } as pg.PoolConfig & { verify: (client: pg.PoolClient, done: (error?: Error) => void) => void });
  // A connection may be lost while it is verified, when nobody else listens: its statements fail, and the process must not.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  pool.on('error', () => undefined); // an idle connection was lost; the next request makes another one
  return pool;
}

/**
 * A client that closes its connection where it cannot log in. pg leaves it open where there is no password to give, until the server ends it
 * after a minute, and so the process of a command, too.
 */
class ClosingClient extends pg.Client {
  override connect(): Promise<this>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<this> | undefined {
    if (!callback) return super.connect() as Promise<this>;
    super.connect((error: Error) => {
      if (error) streamOf(this).destroy();
      callback(error);
    });
    return undefined;
  }
}

/** The socket beneath a client, for which pg has no public name. */
export function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** For so long a pool is content with the connections that it got, where the server had no more. */
const CONTENT_MS = 60_000;

/** When the server had no connection left for a pool, and how many the pool may have otherwise. */
const shrunk = new WeakMap<pg.Pool, { readonly at: number; readonly most: number }>();

/**
 * Lends a connection of a pool. Where the server has none left for it, the request waits for one of those that the pool has, like
 * those that come to a pool in full use.
 */
export async function connected(pool: pg.Pool): Promise<pg.PoolClient> {
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

/** Undefined of a connection that was not made by one of these pools. */
export const seenOf = (client: pg.PoolClient): Seen | undefined => seen.get(client);

/** Looks at a new connection, and refuses that to a standby where another server takes writes. */
function verify(client: pg.PoolClient, isOneOfMany: boolean, done: (error?: Error) => void): void {
  const asked = [
    client.query(`BEGIN TRANSACTION; ${LIMITS}`),
    client.query<Omit<Seen, 'isDirect'> & { standby: boolean; pid: number }>(
      `SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS pid, current_setting('synchronous_commit') AS commit,
         current_setting('transaction_timeout', true) IS NOT NULL AS "hasTransactionTimeout"`,
    ),
    client.query('COMMIT'),
  ] as const;
  Promise.all(asked).then(([, { rows }]) => {
    const [facts] = rows;
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
