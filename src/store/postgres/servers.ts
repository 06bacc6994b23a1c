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

const unusable = (why: string) => new KitError('CONFIG_INVALID', `DATABASE_URL ${why}`);

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

/** The SQLSTATE of an error of the server, or the code of one of the network; undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** No such table: where the schema was in order at the start, a move has retired the database. */
const MOVED = '42P01';

/** What to do about an error, by its codes. The errors' own messages name the user, the host or the database. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'the server refuses the user or the password: correct DATABASE_URL, PGPASSWORD or password file',
  '28000':
    'the server does not let this user connect from here: check its pg_hba.conf, sslmode, and whether it wants a certificate (sslcert, sslkey)',
  '3D000': 'the server has no such database: make it (CREATE DATABASE), or correct DATABASE_URL',
  '53300': 'the server has no connection left: lower DATABASE_POOL, or raise its max_connections',
  '42501':
    'the role of DATABASE_URL lacks a right: GRANT CREATE ON DATABASE to it, or make it the owner of schema hookkit and its tables',
  '25006': 'the database takes no writes: make room on its disk, let it write, or name the primary',
  [MOVED]: 'everything in it was moved to another database: use that one',
  '55P03': 'another session has locked a table: npx hookkit doctor names it',
  '57P03': 'the server is starting or stopping: try again',
  ECONNREFUSED: 'no server listens at the host and port of DATABASE_URL: start it, or correct them',
  ENOENT: 'no server has its socket in the folder of DATABASE_URL: start it, or correct folder and port',
  'ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ETIMEDOUT':
    'the host of DATABASE_URL cannot be reached: look at network, firewalls and name service',
  'SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    "no authority in sslrootcert (without it: no public one) has signed the server's certificate: set sslrootcert to the certificate of its authority",
  CERT_HAS_EXPIRED: "the server's certificate has expired: renew it",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate is for another name than the host of DATABASE_URL: correct one of them",
};

/** What went wrong and what to do about it, without anything of the URL. */
export function reasonOf(error: unknown): string {
  if (error instanceof KitError) return error.message;
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const [message, code] = [messageOf(first), codeOf(first)];
  if (/client password must be a/.test(message))
    return 'the server asks for a password, and none is given: set PGPASSWORD, or write a password file';
  if (message === 'The server does not support SSL connections')
    return 'the server has no TLS: set ssl = on there, or sslmode=disable';
  if (code === undefined) return message || 'no connection';
  const [, advice] = Object.entries(ADVICE).find(([codes]) => codes.split(' ').includes(code)) ?? [];
  return `${advice ?? (message || 'no connection')} (${code})`;
}

/** Whether an error is about the connection or the state of the server, and not about the request. */
export function isTrouble(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  // Rows (21), data (22), constraints (23), syntax (42, but for missing rights and tables) and limits (54) are of the request.
  return code === '42501' || code === MOVED || !/^(21|22|23|42|54)/.test(code);
}

/** Whether the transaction may succeed if it is tried again at once: another one was in its way. */
export function isConflict(error: unknown): boolean {
  return ['40P01', '40001', '55P03'].includes(codeOf(error) ?? '');
}
