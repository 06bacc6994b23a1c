import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { cut } from '../base/text.ts';
import { firstDifference, type JsonObject, parseBody } from './json.ts';

type Flaw = 'no secret' | 'malformed token' | 'not HS256' | 'critical header' | 'bad signature' | 'probe';

/** Why a token was refused. For logs and metrics, never for the client: an answer must not help a forger. */
export type Refusal =
  | { readonly reason: Flaw }
  | { readonly reason: 'claims differ' /** JSON Pointer of the first difference */; readonly path: string };

/** The token that the doctor sends. It verifies nothing, and the metrics count its refusal apart. */
export const PROBE_TOKEN = 'hookkit-doctor';

/** In characters: a path is made of member names, which any sender may choose. */
const LONGEST_PATH = 200;
/** The longest header of an unverified token that is read for the reason of its refusal, in characters; the provider's has 36. */
const LONGEST_HEADER = 512;

/** The header of nearly every token. */
const PLAIN_HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');

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
  const input = plainInput(Buffer.from(body));
  return `${input}.${signatureOf(input, key)}`;
}

/** A token over a notification that nobody signed (`"alg":"none"`), which a receiver must refuse. */
export function unsignedToken(body: string | Buffer): string {
  const parts = ['{"alg":"none","typ":"JWT"}', body, ''];
  return parts.map((part) => Buffer.from(part).toString('base64url')).join('.');
}

/**
 * Checks a token against a body under each of a webhook's live keys. A token that is signed with none of them costs an HMAC a key.
 * @param bytes the body as it came
 * @param value the same, parsed
 * @returns undefined if the token is HS256, signed with one of the keys, and its claims equal the body exactly
 */
export function verifyNotification(
  token: string,
  bytes: Uint8Array,
  value: JsonObject,
  keys: readonly KeyObject[],
): Refusal | undefined {
  if (token === PROBE_TOKEN) return { reason: 'probe' };
  const signer = keys.find((key) => isSigned(token, key));
  if (!signer) return headerRefusal(token) ?? { reason: keys.length === 0 ? 'no secret' : 'bad signature' };
  // Nearly every token: the one that the provider makes of these bytes.
  if (inputOf(token) === plainInput(bytes)) return undefined;
  try {
    // Times are claims like any other here: the provider sends none, and a body may have members of these names.
    const { header } = jsonwebtoken.verify(token, signer, {
      algorithms: ['HS256'],
      ignoreExpiration: true,
      ignoreNotBefore: true,
      complete: true,
    });
    // RFC 7515, 4.1.11: a receiver refuses a `crit` that it does not understand. jsonwebtoken ignores it.
    // The claims are read here: jsonwebtoken would take a text of JSON within JSON for claims.
    return 'crit' in header ? { reason: 'critical header' } : differenceOf(claimsOf(token), value);
  } catch {
    return headerRefusal(token) ?? { reason: 'malformed token' };
  }
}

/** Whether a token is signed with a key, by HS256. It looks at nothing else of the token, so it costs little more than its HMAC. */
function isSigned(token: string, key: KeyObject): boolean {
  const input = inputOf(token);
  const given = Buffer.from(token.slice(input.length + 1));
  const right = Buffer.from(signatureOf(input, key));
  return given.length === right.length && timingSafeEqual(given, right);
}

/**
 * Whether the only flaw of a token is that no known secret explains its signature: it is a well-formed HS256 JWT, and its claims equal
 * the body. This does not verify the token: the quarantine keeps its notification until a secret that verifies it is known.
 */
export function unproven(token: string, value: JsonObject): boolean {
  try {
    return !headerRefusal(token) && !differenceOf(claimsOf(token), value);
  } catch {
    return false; // claims that are no JSON
  }
}

/** What is wrong with the form or the header of a token. The header is read for that alone, whether it is genuine or not. */
function headerRefusal(token: string): Refusal | undefined {
  const [, head = '', signature] = /^([\w-]+)\.[\w-]+\.([\w-]*)$/.exec(token) ?? [];
  if (head === '' || head.length > LONGEST_HEADER) return { reason: 'malformed token' };
  try {
    const { value: header } = parseBody(Buffer.from(head, 'base64url'));
    if (header.alg !== 'HS256') return { reason: 'not HS256' };
    if ('crit' in header) return { reason: 'critical header' };
  } catch {
    return { reason: 'malformed token' };
  }
  return signature?.length === 43 ? undefined : { reason: 'malformed token' }; // 32 bytes in base64url
}

/** The claims, read from their bytes as a body is read. @throws SyntaxError if they are no JSON object in UTF-8 */
function claimsOf(token: string): JsonObject {
  const [, claims = ''] = token.split('.');
  return parseBody(Buffer.from(claims, 'base64url')).value;
}

function differenceOf(claims: unknown, value: JsonObject): Refusal | undefined {
  const path = firstDifference(claims, value);
  return path === undefined ? undefined : { reason: 'claims differ', path: cut(path, LONGEST_PATH) };
}

/** What the signature of nearly every token over a body is made of: the usual header, and the body as it came. */
function plainInput(bytes: Uint8Array): string {
  const claims = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');
  return `${PLAIN_HEADER}.${claims}`;
}

/** The part of a token that its signature is made of: header and claims. */
function inputOf(token: string): string {
  return token.slice(0, Math.max(0, token.lastIndexOf('.')));
}

function signatureOf(input: string, key: KeyObject): string {
  return createHmac('sha256', key).update(input).digest('base64url');
}
