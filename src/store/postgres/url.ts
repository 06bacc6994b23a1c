import { readFileSync } from 'node:fs';
import type { ConnectionConfig } from 'pg';
import pg from 'pg';
import { KitError, messageOf } from '../../base/errors.ts';

/** How one server is reached. */
export type Server = Pick<ConnectionConfig, 'connectionString'>;

const URL_FORM = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)((?:\/[^?]*)?)(\?.*)?$/;

/** The others of libpq, prefer and allow, go on without TLS where somebody in between says so. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/** Files that pg reads, by the parameters that name them. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];

const LAST_PORT = 65_535;

const FORM = 'must be like postgres://USER@HOST:PORT/DATABASE; write special characters of a password as %XX';

/**
 * The servers that a DATABASE_URL names: `postgres://user:password@one:5432,two:5432/database?sslmode=verify-full`. TLS is as
 * `sslmode` and `sslrootcert` say, with libpq's meaning (https://www.postgresql.org/docs/current/libpq-ssl.html), which must not be
 * prefer or allow; without `sslmode` it is disable. A password that the URL does not have comes from PGPASSWORD or the password file.
 * @throws KitError CONFIG_INVALID if it is no such URL, or names a file that cannot be read; the message has no user, password or host
 */
export function serversOf(url: string): Server[] {
  const [, start, hosts, path, query = ''] = URL_FORM.exec(url) ?? [];
  if (start === undefined || hosts === undefined) throw unusable(FORM);
  const given = new Map(new URLSearchParams(query)); // of two with one name the last counts, as for pg
  const mode = given.get('sslmode') ?? 'disable';
  if (!MODES.includes(mode))
    throw unusable(`has another sslmode than ${MODES.join(', ')}: take one of these`);
  if (mode === 'verify-ca' && !given.has('sslrootcert'))
    throw unusable(
      "has sslmode=verify-ca and no sslrootcert: name the certificate of the server's authority",
    );
  for (const name of FILES) tryToRead(name, given.get(name));
  const compatible = `${query}${query ? '&' : '?'}uselibpqcompat=true`;
  const servers = hosts.split(',').map((host) => ({
    connectionString: `${start}${host}${path}${/[?&]uselibpqcompat=/.test(query) ? query : compatible}`,
  }));
  const ports = hosts.split(',').map((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 1));
  try {
    // Reads the URL and its certificates, and connects nowhere.
    if (!ports.some(isNoPort)) ports.push(...servers.map((server) => new pg.Client(server).port));
  } catch (error) {
    throw unusable(`cannot be used (${messageOf(error).replaceAll(url, 'it')}): it ${FORM}`);
  }
  if (ports.some(isNoPort))
    throw unusable(`has a port that is not a number from 1 to ${LAST_PORT}: correct it`);
  return servers;
}

const isNoPort = (port: number) => !(port >= 1 && port <= LAST_PORT);

/** @throws KitError CONFIG_INVALID if the file that a parameter names cannot be read */
function tryToRead(name: string, path: string | undefined): void {
  if (!path) return;
  try {
    readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw unusable(
      `names ${path} as ${name}, and this file cannot be read (${code}): correct its path or its mode`,
    );
  }
}

/** Names the database of a URL, without its user and password. */
export function nameOf(url: string): string {
  const clients = serversOf(url).map((server) => new pg.Client(server));
  const hosts = clients.map(({ host, port }) => `${host}:${port}`).join(',');
  return `the PostgreSQL database ${clients[0]?.database} at ${hosts}`;
}

function unusable(why: string): KitError {
  return new KitError('CONFIG_INVALID', `DATABASE_URL ${why}`);
}
