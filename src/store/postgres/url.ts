import type { PoolConfig } from 'pg';
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
  const mode = parameters.get('sslmode') ?? 'disable';
  // These go on without TLS where somebody in between says so.
  if (mode === 'prefer' || mode === 'allow')
    throw unusable(`has sslmode=${mode}: take disable, require, verify-ca or verify-full`);
  if (mode === 'verify-ca' && !parameters.has('sslrootcert'))
    throw unusable("has sslmode=verify-ca and no sslrootcert: name the server's authority's certificate");
  parameters.set('sslmode', mode);
  parameters.set('uselibpqcompat', 'true');
  const isPublic = parameters.get('sslrootcert') === 'system'; // the authorities that Node knows
  if (isPublic && mode !== 'verify-full')
    throw unusable('has sslrootcert=system, which needs sslmode=verify-full');
  if (isPublic) parameters.delete('sslrootcert');
  return hosts.split(',').map((host) => {
    try {
      const parsed = parseIntoClientConfig(`${start}${host}${path}?${parameters}`);
      if (parsed.port !== undefined && !(Number(parsed.port) >= 1 && Number(parsed.port) <= 65_535))
        throw new Error('its port is no number from 1 to 65535');
      return mode === 'disable' ? { ...parsed, ssl: false } : parsed;
    } catch (error) {
      throw unusable(`cannot be used (${messageOf(error).replaceAll(url, 'it')}): it ${FORM}`);
    }
  });
}

/** Names the database of a URL, without its user and password. */
export function nameOf(url: string): string {
  const servers = serversOf(url);
  const hosts = servers.map(({ host, port }) => `${host ?? 'localhost'}:${port ?? 5432}`).join(',');
  return `the PostgreSQL database ${servers[0]?.database} at ${hosts}`;
}

function unusable(why: string): KitError {
  return new KitError('CONFIG_INVALID', `DATABASE_URL ${why}`);
}
