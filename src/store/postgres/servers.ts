import type { PoolConfig } from 'pg';
import pg from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { KitError, messageOf } from '../../base/errors.ts';

const URL_FORM = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)((?:\/[^?]*)?)(?:\?(.*))?$/;
const FORM = 'must be like postgres://USER@HOST:PORT/DATABASE; write special characters of a password as %XX';

/**
 * The servers that a DATABASE_URL names: `postgres://user:password@one:5432,two:5432/database?sslmode=verify-full`. `sslmode` means what
 * libpq means by it; without it, connections are not encrypted. A password that the URL does not have comes from PGPASSWORD or the
 * password file.
 * @throws KitError CONFIG_INVALID if it is no such URL, or names a file that cannot be used; the message has no user, password or host
 */
export function serversOf(url: string): PoolConfig[] {
  const [, start, hosts, path, query = ''] = URL_FORM.exec(url) ?? [];
  if (start === undefined || hosts === undefined) throw unusable(FORM);
  const parameters = new URLSearchParams(query);
  const isPublic = parameters.get('sslrootcert') === 'system'; // the authorities that Node knows
  if (isPublic) parameters.delete('sslrootcert');
  const mode = isPublic ? 'verify-full' : (parameters.get('sslmode') ?? 'disable');
  // These go on without TLS where somebody in between says so.
  if (mode === 'prefer' || mode === 'allow')
    throw unusable(`has sslmode=${mode}: take disable, require, verify-ca or verify-full`);
  parameters.set('sslmode', mode);
  parameters.set('uselibpqcompat', 'true');
  return hosts.split(',').map((host) => {
    try {
      return parseIntoClientConfig(`${start}${host}${path}?${parameters}`);
    } catch (error) {
      throw unusable(`cannot be used (${messageOf(error).replaceAll(url, 'it')}): it ${FORM}`);
    }
  });
}

/** Names the database of a URL, without its user and password. */
export function nameOf(url: string): string {
  const [, , hosts, path] = URL_FORM.exec(url) ?? [];
  return `the PostgreSQL database ${path?.slice(1)} at ${hosts}`;
}

function unusable(why: string): KitError {
  return new KitError('CONFIG_INVALID', `DATABASE_URL ${why}`);
}

/** Connections that are the server's own: behind PgBouncer, what is prepared may be gone at the next transaction. */
export const direct = new WeakSet<pg.PoolClient>();

/** The servers of a URL. They are tried in turn, beginning with the one that answered last. */
export class Servers {
  readonly #pools: pg.Pool[];
  #current = 0;
  readonly [Symbol.asyncDispose] = () => this.close();

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

  /** The share of the connections that are in use now, 0 to 1. */
  busy(): number {
    const { totalCount = 0, idleCount = 0, options } = this.#pools[this.#current] ?? {};
    return (totalCount - idleCount) / (options?.max ?? 1);
  }

  async close(): Promise<void> {
    const open = this.#pools.filter(({ ending }) => !ending); // a pool ends once
    await Promise.all(open.map((pool) => pool.end()));
  }
}

/** Numbers of events and times are far below 2^53. */
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);

function poolOf(server: pg.PoolConfig, max: number | undefined, isOneOfMany: boolean): pg.Pool {
  const pool = new pg.Pool({
    ...server,
    max,
    connectionTimeoutMillis: 5000, // then the answer is 503
    query_timeout: 30_000, // longer than the server takes to give up
    keepAlive: true,
    types,
    verify: (client, done) => void look(client, isOneOfMany).then(() => done(), done),
  });
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
