import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { messageOf } from '../../base/errors.ts';

/** The parameters of a URL that say how a connection is encrypted, with libpq's names. */
export const TLS_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;
type Parameter = (typeof TLS_PARAMETERS)[number];

/** The others of libpq, prefer and allow, go on without TLS where somebody in between says so. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'];
/** In place of a file: the authorities that Node knows. */
const PUBLIC = 'system';

/**
 * How a connection is encrypted, with libpq's meaning (https://www.postgresql.org/docs/current/libpq-ssl.html); `sslmode` must not be
 * prefer or allow, and is disable where it is not given. Whether the server's certificate is checked is said in any case, as NODE_TLS_REJECT_UNAUTHORIZED
 * would switch it off otherwise.
 * @throws Error with what is wrong, as the end of a sentence that begins with the URL's name
 */
export function tlsOf(given: ReadonlyMap<string, string>): false | ConnectionOptions {
  const of = (name: Parameter) => given.get(name) || undefined;
  const mode = given.get('sslmode') ?? 'disable';
  if (!MODES.includes(mode))
    throw new Error(`has another sslmode than ${MODES.join(', ')}: take one of these`);
  const root = of('sslrootcert');
  if (mode === 'verify-ca' && root === undefined)
    throw new Error(
      "has sslmode=verify-ca and no sslrootcert: name the certificate of the server's authority",
    );
  if (root === PUBLIC && mode !== 'verify-full')
    throw new Error(
      'has sslrootcert=system, which needs sslmode=verify-full: a public authority gives certificates to everybody',
    );
  const ca = root === PUBLIC ? undefined : read('sslrootcert', root);
  const own = ownCertificate(of('sslcert'), of('sslkey'));
  if (mode === 'disable') return false;
  return {
    ...own,
    ...(ca && { ca }),
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  };
}

/** What this side shows of itself, where the server asks for a certificate. */
function ownCertificate(certPath: string | undefined, keyPath: string | undefined) {
  const cert = read('sslcert', certPath);
  const key = read('sslkey', keyPath);
  if (cert === undefined && key === undefined) return {};
  if (cert === undefined || key === undefined || keyPath === undefined)
    throw new Error('has one of sslcert and sslkey: name both');
  if (isOpenToOthers(keyPath))
    throw new Error(`names ${keyPath} as sslkey, which others can read: chmod 600`);
  const parsed = parse('sslkey', keyPath, () => createPrivateKey(key), ' without a passphrase');
  const certificate = parse('sslcert', certPath, () => new X509Certificate(cert));
  if (!certificate.checkPrivateKey(parsed)) throw new Error('has an sslkey that is not that of its sslcert');
  return { cert, key };
}

function parse<T>(name: Parameter, path: string | undefined, read: () => T, how = ''): T {
  try {
    return read();
  } catch {
    throw new Error(`names ${path} as ${name}, and this file is not one in PEM${how}`);
  }
}

/** As libpq: nobody but the owner, or the owner's group where that is root. */
function isOpenToOthers(path: string): boolean {
  const { mode, uid } = statSync(path);
  return (mode & (uid === 0 ? 0o037 : 0o077)) !== 0;
}

function read(name: Parameter, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = messageOf(error) } = error as NodeJS.ErrnoException;
    throw new Error(
      `names ${path} as ${name}, and this file cannot be read (${code}): correct its path or its mode`,
    );
  }
}
