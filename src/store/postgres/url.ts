import type { ConnectionConfig } from 'pg';
import pg from 'pg';
import { KitError, messageOf } from '../../base/errors.ts';
import { TLS_PARAMETERS, tlsOf } from './tls.ts';

/** How one server is reached. */
export type Server = Pick<ConnectionConfig, 'connectionString' | 'ssl'>;

const URL_FORM = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)((?:\/[^?]*)?)(?:\?(.*))?$/;

/** What the part behind the question mark may say: of TLS, and in which folder the socket of a server on this machine is. */
const PARAMETERS: readonly string[] = [...TLS_PARAMETERS, 'host'];

const LAST_PORT = 65_535;

const FORM = 'must be like postgres://USER@HOST:PORT/DATABASE; write special characters of a password as %XX';

/**
 * The servers that a DATABASE_URL names: `postgres://user:password@one:5432,two:5432/database?sslmode=verify-full`. A password that the
 * URL does not have comes from PGPASSWORD or the password file.
 * @throws KitError CONFIG_INVALID if it is no such URL, has a parameter that is not known, or names a file that cannot be used; the
 *   message has no user, password or host
 */
export function serversOf(url: string): Server[] {
  const [, start, hosts, path, query = ''] = URL_FORM.exec(url) ?? [];
  if (start === undefined || hosts === undefined) throw unusable(FORM);
  const parameters = [...new URLSearchParams(query)];
  const given = new Map(parameters);
  // One that is passed over may be a misspelt sslmode. It is not shown, as it may be the rest of a password.
  const unknown = [...given.keys()].findIndex((name) => !PARAMETERS.includes(name));
  if (unknown >= 0)
    throw unusable(
      `has a parameter (number ${unknown + 1}) that is none of ${PARAMETERS.join(', ')}: take it out`,
    );
  if (given.size < parameters.length) throw unusable('has a parameter twice: take one of the two out');
  const ssl = orUnusable(() => tlsOf(given));
  const folder = given.get('host');
  const socket = folder === undefined ? '' : `?host=${encodeURIComponent(folder)}`;
  const each = hosts.split(',');
  const servers = each.map((host) => ({ connectionString: `${start}${host}${path}${socket}`, ssl }));
  const ports = each.map((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 1));
  try {
    // Reads the URL, and connects nowhere.
    if (!ports.some(isNoPort)) ports.push(...servers.map((server) => new pg.Client(server).port));
  } catch (error) {
    throw unusable(`cannot be used (${messageOf(error).replaceAll(url, 'it')}): it ${FORM}`);
  }
  if (ports.some(isNoPort))
    throw unusable(`has a port that is not a number from 1 to ${LAST_PORT}: correct it`);
  if (!given.has('sslmode') && isTlsMeant())
    throw unusable('has no sslmode, and PGSSLMODE is set: write it into the URL');
  return servers;
}

const isNoPort = (port: number) => !(port >= 1 && port <= LAST_PORT);

/** Whether the environment asks for TLS, as pg reads it. */
function isTlsMeant(): boolean {
  return Boolean((new pg.Client({}) as pg.Client & { readonly ssl: unknown }).ssl);
}

/** Names the database of a URL, without its user and password. */
export function nameOf(url: string): string {
  const clients = serversOf(url).map((server) => new pg.Client(server));
  const hosts = clients.map(({ host, port }) => `${host}:${port}`).join(',');
  return `the PostgreSQL database ${clients[0]?.database} at ${hosts}`;
}

function orUnusable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unusable(messageOf(error));
  }
}

function unusable(why: string): KitError {
  return new KitError('CONFIG_INVALID', `DATABASE_URL ${why}`);
}
