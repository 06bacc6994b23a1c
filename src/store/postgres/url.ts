import type { ConnectionConfig } from 'pg';
import pg from 'pg';
import { KitError, messageOf } from '../../base/errors.ts';

/** How one server is reached. */
export type Server = Pick<ConnectionConfig, 'connectionString'>;

const URL_FORM = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)((?:\/[^?]*)?)(\?.*)?$/;

/** The others of libpq, prefer and allow, go on without TLS where somebody in between says so. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

const FORM = 'must be like postgres://USER@HOST:PORT/DATABASE; write special characters of a password as %XX';

/**
 * The servers that a DATABASE_URL names: `postgres://user:password@one:5432,two:5432/database?sslmode=verify-full`. TLS is as
 * `sslmode` and `sslrootcert` say, with libpq's meaning (https://www.postgresql.org/docs/current/libpq-ssl.html), which must not be
 * prefer or allow; without `sslmode` it is disable. A password that the URL does not have comes from PGPASSWORD or the password file.
 * @throws KitError STORE_UNUSABLE if it is no such URL; the message has nothing of it
 */
export function serversOf(url: string): Server[] {
  const [, start, hosts, path, query = ''] = URL_FORM.exec(url) ?? [];
  if (start === undefined || hosts === undefined) throw unusable(FORM);
  const given = new URLSearchParams(query);
  const mode = given.get('sslmode') ?? 'disable';
  if (!MODES.includes(mode))
    throw unusable(`has another sslmode than ${MODES.join(', ')}: take one of these`);
  if (mode === 'verify-ca' && !given.has('sslrootcert'))
    throw unusable(
      "has sslmode=verify-ca and no sslrootcert: name the certificate of the server's authority",
    );
  const compatible = `${query}${query ? '&' : '?'}uselibpqcompat=true`;
  const servers = hosts.split(',').map((host) => ({
    connectionString: `${start}${host}${path}${/[?&]uselibpqcompat=/.test(query) ? query : compatible}`,
  }));
  try {
    for (const server of servers) new pg.Client(server); // reads the URL and its certificates, and connects nowhere
  } catch (error) {
    throw unusable(`cannot be used (${messageOf(error).replaceAll(url, 'it')}): it ${FORM}`);
  }
  return servers;
}

/** Names the database of a URL, without its user and password. */
export function nameOf(url: string): string {
  const clients = serversOf(url).map((server) => new pg.Client(server));
  const hosts = clients.map(({ host, port }) => `${host}:${port}`).join(',');
  return `the PostgreSQL database ${clients[0]?.database} at ${hosts}`;
}

function unusable(why: string): KitError {
  return new KitError('STORE_UNUSABLE', `DATABASE_URL ${why}`);
}
