import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { jsonOf } from '../base/answer-body.ts';
import { cut } from '../base/text.ts';
import { firstDifference, isObject, type ParsedBody, parseBody } from './json.ts';

type Flaw = 'no secret' | 'malformed token' | 'not HS256' | 'critical header' | 'bad signature' | 'probe';

/** Why a token was refused. For logs and metrics, never for the client: an answer must not help a forger. */
export type Refusal =
  | { readonly reason: Flaw }
  | { readonly reason: 'claims differ' /** JSON Pointer of the first difference */; readonly path: string };

/** The token that the doctor sends. It verifies nothing, and the metrics count its refusal apart. */
export const PROBE_TOKEN = 'hookkit-doctor';

/** In characters: a path is made of member names, which any sender may choose. */
const LONGEST_PATH = 200;

/**
 * A secret as a key, to be made once.
 * @throws RangeError on an empty secret, with which everybody could sign
 */
export function keyOf(secret: string): KeyObject {
  if (secret === '') throw new RangeError('a webhook secret must not be empty');
  return createSecretKey(secret, 'utf8');
}

/**
 * Signs a notification as the provider does: HS256 over the very text that is sent, so that the claims are its members
 * in its order and nothing else. jsonwebtoken would add `iat` to an object.
 * @param body the JSON text of the notification; bytes are signed as they are, valid UTF-8 or not
 */
export function signNotification(body: string | Buffer, key: KeyObject): string {
  return tokenOf(body, 'HS256', key);
}

/** A token over a notification that nobody signed (`"alg":"none"`), which a receiver must refuse. */
export function unsignedToken(body: string | Buffer): string {
  return tokenOf(body, 'none', '');
}

function tokenOf(body: string | Buffer, alg: 'HS256' | 'none', key: KeyObject | string): string {
  const bytes = Buffer.from(body).toString('latin1');
  return jsonwebtoken.sign(bytes, key, { algorithm: alg, header: { alg, typ: 'JWT' }, encoding: 'latin1' });
}

/**
 * Checks a token against a body under each of a webhook's live keys. A token that is signed with none of them costs an HMAC a key;
 * jsonwebtoken decides on every other one.
 * @returns undefined if the token is HS256, signed with one of the keys, and its claims equal the body exactly
 */
export function verifyNotification(
  token: string,
  body: ParsedBody,
  keys: readonly KeyObject[],
): Refusal | undefined {
  if (token === PROBE_TOKEN) return { reason: 'probe' };
  const signer = keys.find((key) => isSigned(token, key));
  if (!signer) return headerRefusal(token) ?? { reason: keys.length === 0 ? 'no secret' : 'bad signature' };
  try {
    // Times are claims like any other here: the provider sends none, and a body may have members of these names.
    const { header } = jsonwebtoken.verify(token, signer, {
      algorithms: ['HS256'],
      ignoreExpiration: true,
      ignoreNotBefore: true,
      complete: true,
    });
    // RFC 7515, 4.1.11: a receiver refuses a `crit` that it does not understand. jsonwebtoken ignores it.
    return 'crit' in header ? { reason: 'critical header' } : claimsRefusal(token, body);
  } catch {
    return headerRefusal(token) ?? { reason: 'malformed token' };
  }
}

/** Whether a token is signed with a key, by HS256. It looks at nothing else of the token, so it costs little more than its HMAC. */
function isSigned(token: string, key: KeyObject): boolean {
  const dot = token.lastIndexOf('.');
  const given = Buffer.from(token.slice(dot + 1));
  const right = Buffer.from(createHmac('sha256', key).update(token.slice(0, dot)).digest('base64url'));
  return given.length === right.length && timingSafeEqual(given, right);
}

/** What is wrong with the form or the header of a token that is refused, for the reason alone. It reads no header beyond 512 characters. */
function headerRefusal(token: string): Refusal | undefined {
  const [, head = '', signature = ''] = /^([\w-]{1,512})\.[\w-]+\.([\w-]*)$/.exec(token) ?? [];
  const header = jsonOf(Buffer.from(head, 'base64url').toString());
  if (!isObject(header)) return { reason: 'malformed token' };
  if (header.alg !== 'HS256') return { reason: 'not HS256' };
  if ('crit' in header) return { reason: 'critical header' };
  return signature.length === 43 ? undefined : { reason: 'malformed token' }; // 32 bytes in base64url
}

/**
 * How the claims of a token differ from a body, whether the token is genuine or not. They are read from their bytes: jsonwebtoken would
 * take a text of JSON within JSON for claims.
 */
export function claimsRefusal(token: string, { text, value }: ParsedBody): Refusal | undefined {
  const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url');
  if (claims.equals(Buffer.from(text))) return undefined; // nearly always, as the provider signs what it sends
  try {
    const path = firstDifference(parseBody(claims).value, value);
    return path === undefined ? undefined : { reason: 'claims differ', path: cut(path, LONGEST_PATH) };
  } catch {
    return { reason: 'malformed token' };
  }
}
