import type pg from 'pg';
import { KitError, messageOf } from '../../base/errors.ts';

/** The SQLSTATE of an error of the server, or the code of one of the network; undefined if it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Of a database that a move fills or has left; the message says what to do. Class HK is nobody else's. */
export const MOVED = 'HK001';

/** The server has no connection left: for anybody, or for this role or database. */
export const NONE_LEFT = '53300';

const WRONG_AUTHORITY =
  "the server's certificate is not of the authority of sslrootcert, or without that of a public one: name its authority's certificate";

/** What pg says of a server that answers without TLS. */
const NO_TLS = 'The server does not support SSL connections';

/** What pg says where the server did not answer a statement in time. */
export const NO_ANSWER = 'Query read timeout';

/** What pg says where it has none to give. */
const NO_PASSWORD = /client password must be a(?: non-empty)? string/;

/** The SQLSTATE of what a role has no right to. */
export const NO_RIGHT = '42501';
/** What to do where the role may not make the schema. */
export const MAY_MAKE =
  'GRANT CREATE ON DATABASE … to the role of DATABASE_URL, or let another role make the schema (CREATE SCHEMA hookkit AUTHORIZATION …)';
/** What to do where it may not use the tables. */
export const MAY_USE =
  'make the role of DATABASE_URL their owner (docs/scaling.md, "Backups", for what a superuser has restored), or GRANT it the role that is; partitions, too, only their owner can make';
const MAY_CONNECT = 'GRANT CONNECT ON DATABASE … to the role of DATABASE_URL';

/** What to do where transactions may not write. */
export const LET_WRITE = 'ALTER DATABASE or ALTER ROLE … SET default_transaction_read_only = off';

/** What a role has no right to, and what to do. The message may name the database. */
function noRight(message: string, detail = ''): string {
  const text = message.replace(/ database .*/, ' the database');
  if (detail.includes('CONNECT')) return `${text}: ${MAY_CONNECT}`;
  return `${text}: ${/ database /.test(message) ? MAY_MAKE : MAY_USE}`;
}

/** What to do about a connection that fails. The errors' own messages name the user, the host or the database. */
const NO_CONNECTION: Readonly<Record<string, string>> = {
  '28P01':
    'the server refuses the user or the password: correct DATABASE_URL, PGPASSWORD or the password file',
  '28000':
    'the server lets this user not connect from here: see its pg_hba.conf, whether sslmode must be set, and whether it wants a certificate (sslcert, sslkey)',
  '3D000': 'the server has no such database: make it (CREATE DATABASE), or correct DATABASE_URL',
  [NONE_LEFT]: 'the server has no connection left: lower DATABASE_POOL, or raise its max_connections',
  ENOENT:
    'no server has its socket in the folder of DATABASE_URL: start it, or correct the folder and the port',
  '25006': `the database takes no writes: make room on its disk if that is full, ${LET_WRITE}, or name the primary`,
  '57P03': 'the server is starting or stopping: try again',
  ECONNREFUSED: 'no server listens at the host and port of DATABASE_URL: start it, or correct them',
  ENOTFOUND: 'the host of DATABASE_URL is not known: correct it, or the name service',
  EAI_AGAIN: 'the name service does not answer, so the host of DATABASE_URL cannot be found',
  EHOSTUNREACH: 'the host of DATABASE_URL cannot be reached: look at the network',
  ENETUNREACH: 'the host of DATABASE_URL cannot be reached: look at the network',
  ETIMEDOUT: 'the host of DATABASE_URL does not answer: look at the network and firewalls',
  ...Object.fromEntries(
    ['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY']
      .concat('UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_SIGNATURE_FAILURE')
      .map((code) => [code, WRONG_AUTHORITY]),
  ),
  CERT_HAS_EXPIRED: "the server's certificate has expired: renew it",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate is for another name than the host of DATABASE_URL: correct the one or the other",
};

/** What went wrong, without anything of the URL. */
export function reasonOf(error: unknown): string {
  if (error instanceof KitError) return error.message;
  if (codeOf(error) === MOVED) return messageOf(error);
  const message =
    error instanceof AggregateError
      ? (error.errors as unknown[]).map(messageOf).join('; ')
      : messageOf(error);
  const code = codeOf(error);
  if (NO_PASSWORD.test(message))
    return 'the server asks for a password, and none is given: set PGPASSWORD, or write a password file';
  if (message === NO_ANSWER)
    return 'the server has not answered for 30 s: look at it, at the network and, where it waits for standbys, at those';
  if (message === NO_TLS) return 'the server has no TLS: set ssl = on there, or sslmode=disable';
  if (code === NO_RIGHT) return `${noRight(message, (error as pg.DatabaseError).detail)} (${code})`;
  const [, limited] = code === NONE_LEFT ? (/connections for (role|database) /.exec(message) ?? []) : [];
  if (limited !== undefined)
    return `the ${limited} may have no more connections: lower DATABASE_POOL, or raise its limit (ALTER ${limited.toUpperCase()} … CONNECTION LIMIT) (${code})`;
  const known = NO_CONNECTION[code ?? ''];
  if (known) return `${known} (${code})`;
  return `${message || 'no connection'}${code && !message.includes(code) ? ` (${code})` : ''}`;
}
