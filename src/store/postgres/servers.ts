import pg from 'pg';
import { serversOf } from './url.ts';

/** How long is waited for a connection, milliseconds; then the answer is 503. */
const CONNECT_MS = 5000;
/** How long is waited for an answer: longer than the server takes to give up. */
const ANSWER_MS = 30_000;

const INT8 = 20;

/** Connections that are the server's own: behind PgBouncer, what is prepared may be gone at the next transaction. */
const direct = new WeakSet<pg.PoolClient>();

export const isDirect = (client: pg.PoolClient): boolean => direct.has(client);

/** The servers of a URL. They are tried in turn, beginning with the one that answered last. */
export class Servers {
  readonly #pools: pg.Pool[];
  #current = 0;

  constructor(url: string, connections: number | undefined, name = 'hookkit') {
    const servers = serversOf(url);
    this.#pools = servers.map((server) =>
      poolOf({ application_name: name, ...server }, connections, servers.length > 1),
    );
  }

  /** @throws the last server's error, if none takes the connection */
  async connect(): Promise<pg.PoolClient> {
    let last: unknown;
    for (let turn = 0; turn < this.#pools.length; turn++) {
      const at = (this.#current + turn) % this.#pools.length;
      try {
        const client = await this.#pools[at]?.connect();
        this.#current = at;
        if (client) return client;
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }
}

function poolOf(server: pg.PoolConfig, max: number | undefined, isOneOfMany: boolean): pg.Pool {
  const pool = new pg.Pool({
    ...server,
    max,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    types: { getTypeParser },
    verify: (client: pg.PoolClient, done: (error?: Error) => void) => {
      look(client, isOneOfMany).then(() => done(), done);
    },
  } as pg.PoolConfig);
  // A connection that is lost while nobody uses it is replaced; while somebody does, their statement fails.
  pool.on('connect', (client) => void client.on('error', () => {}));
  pool.on('error', () => {});
  return pool;
}

async function look(client: pg.PoolClient, isOneOfMany: boolean): Promise<void> {
  const { rows } = await client.query<{ pid: number; standby: boolean }>(
    'SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby',
  );
  if (isOneOfMany && rows[0]?.standby) throw new Error('the server is a standby, which takes no writes');
  const { processID } = client as unknown as { readonly processID: number };
  if (rows[0]?.pid === processID) direct.add(client);
}

/** Numbers of events and times are far below 2^53. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format as 'text');
}
