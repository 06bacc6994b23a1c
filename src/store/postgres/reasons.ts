import { KitError, messageOf } from '../../base/errors.ts';

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
    'the server lets this user not connect from here: see its pg_hba.conf, whether sslmode must be set, and whether it wants a certificate (sslcert, sslkey)',
  '3D000': 'the server has no such database: make it (CREATE DATABASE), or correct DATABASE_URL',
  '53300': 'the server has no connection left: lower DATABASE_POOL, or raise its max_connections',
  '42501':
    'the role of DATABASE_URL lacks a right: GRANT CREATE ON DATABASE to it, or make it the owner of schema hookkit and its tables',
  '25006': 'the database takes no writes: make room on its disk, let it write, or name the primary',
  [MOVED]: 'everything in it was moved to another database: use that one',
  '55P03': 'somebody has locked a table: npx hookkit doctor says who',
  '57P03': 'the server is starting or stopping: try again',
  ECONNREFUSED: 'no server listens at the host and port of DATABASE_URL: start it, or correct them',
  ENOENT: 'no server has its socket in the folder of DATABASE_URL: start it, or correct folder and port',
  'ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ETIMEDOUT':
    'the host of DATABASE_URL cannot be reached: look at network, firewalls and name service',
  'SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    "the server's certificate is not of the authority of sslrootcert, or without that of a public one: name its authority's certificate",
  CERT_HAS_EXPIRED: "the server's certificate has expired: renew it",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate is for another name than the host of DATABASE_URL: correct the one or the other",
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
