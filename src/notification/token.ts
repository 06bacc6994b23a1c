import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { createRequire } from 'node:module';
import { cut } from '../base/cut.ts';
import { firstDifference, type JsonObject, parseJsonObject } from './json.ts';

/** Why a token was refused. For logs and metrics, never for the client: an answer must not help a forger. */
export type Refusal =
  | { readonly reason: 'no secret' | 'malformed token' | 'not HS256' | 'critical header' | 'bad signature' }
  | { readonly reason: 'claims differ' /** JSON Pointer of the first difference */; readonly path: string };

/** A character outside base64url. Searching it needs no backtracking; an expression for a whole token would. */
const STRANGE = /[^\w-]/;
const SIGNATURE = /^[\w-]{43}$/;
/** Of 32 bytes in base64url. */
const SIGNATURE_LENGTH = 43;
/** A path is made of member names, which any sender may choose. */
const LONGEST_PATH = 200;

const require = createRequire(import.meta.url);
/**
 * Loaded for the first token that is genuine and not written as the provider writes it, if one ever comes: it is a tenth of all
 * modules of a server, and every start would wait for it.
 */
const jsonwebtoken = (): typeof import('jsonwebtoken') => require('jsonwebtoken');

/** The header of nearly every token. */
const PLAIN_HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');

/**
 * A secret as a key, made once: jsonwebtoken spends 17 µs on a string (Node 24) and 6 µs on a KeyObject.
 * @throws RangeError on an empty secret, with which everybody could sign
 */
export function keyOf(secret: string): KeyObject {
  if (secret === '') throw new RangeError('a webhook secret must not be empty');
  return createSecretKey(secret, 'utf8');
}

/**
 * Signs a notification as the provider does: HS256 over the very text that is sent, so that the claims are its members
 * in its order and nothing else. jsonwebtoken would add `iat` to an object, or, told `noTimestamp`, would drop one that the
 * body has.
 * @param body the JSON text of the notification; bytes are signed as they are, valid UTF-8 or not
 */
export function signNotification(body: string | Buffer, key: KeyObject): string {
  const input = `${PLAIN_HEADER}.${Buffer.from(body).toString('base64url')}`;
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
}

/** A random key. With it, a webhook without a secret costs the same work as a webhook with one. */
const DECOY = createSecretKey(randomBytes(32));
/** In characters. A longer token with a wrong signature is not examined for the reason. */
const EXAMINED = 4096;

/**
 * Checks a token against a body under each of a webhook's live keys.
 * @param text what the body was read from, by `parseJsonObject`; claims that are the same bytes need not be read again
 * @returns undefined if the token is HS256, signed with one of the keys, and its claims equal the body exactly
 */
export function verifyNotification(
  token: string,
  body: JsonObject,
  keys: readonly KeyObject[],
  text?: string,
): Refusal | undefined {
  const key = signerOf(token, keys);
  return key ? verifySigned(token, body, key, text) : unsigned(token, keys);
}

/**
 * The key that a token is signed with, by HS256, also if its header says otherwise. It looks at nothing else of the token, so
 * forgeries get no further than this. It takes the same time for all tokens of one length.
 * @param rounds for how many keys to work, though there may be fewer
 */
export function signerOf(token: string, keys: readonly KeyObject[], rounds = 1): KeyObject | undefined {
  const dot = token.lastIndexOf('.');
  const input = dot < 0 ? token : token.slice(0, dot);
  const signature = Buffer.from(token.slice(-SIGNATURE_LENGTH), 'latin1');
  const isPlaced = dot === token.length - SIGNATURE_LENGTH - 1;
  let signer: KeyObject | undefined;
  for (let round = 0; round < Math.max(rounds, keys.length); round++) {
    const key = keys[round];
    const right = createHmac('sha256', key ?? DECOY)
      .update(input, 'latin1')
      .digest('base64url');
    const isRight = signature.length === right.length && timingSafeEqual(signature, Buffer.from(right));
    if (isRight && isPlaced) signer ??= key;
  }
  return signer;
}

/** Checks everything else of a token whose signature is right under this key. */
export function verifySigned(
  token: string,
  body: JsonObject,
  key: KeyObject,
  text?: string,
): Refusal | undefined {
  // Nearly every token. jsonwebtoken takes it too, for ten times as long.
  if (text !== undefined && token.startsWith(plainInput(text))) return undefined;
  try {
    // Times are claims like any other here: the provider sends none, and a body may have members of these names.
    jsonwebtoken().verify(token, key, {
      algorithms: ['HS256'],
      ignoreExpiration: true,
      ignoreNotBefore: true,
    });
  } catch (error) {
    return refusalOf(error);
  }
  return inspectToken(token, body, text);
}

/** The claims of a token, as they are encoded; undefined if it cannot be a token signed by HS256. */
export function claimsOf(token: string): string | undefined {
  const first = token.indexOf('.');
  const last = token.length - SIGNATURE_LENGTH - 1;
  if (first < 1 || last <= first + 1 || token.indexOf('.', first + 1) !== last) return undefined;
  return token.slice(first + 1, last);
}

/** The longest header of a token that is looked into before anything is verified, in characters; the provider's has 36. */
const LONGEST_HEADER = 512;

/** Whether a token has the form and the header of one that is signed by HS256. It does not look into the claims. */
export function mayBeHs256(token: string): boolean {
  const dot = token.indexOf('.');
  if (dot < 1 || dot > LONGEST_HEADER || claimsOf(token) === undefined) return false;
  const head = token.slice(0, dot);
  return SIGNATURE.test(token.slice(-SIGNATURE_LENGTH)) && !STRANGE.test(head) && !refusalOfHeader(head);
}

/** Why a token is refused that none of a webhook's keys has signed. */
export function unsigned(token: string, keys: readonly KeyObject[]): Refusal {
  if (token.length <= EXAMINED) {
    const [head, , signature] = segmentsOf(token) ?? [];
    if (head === undefined) return { reason: 'malformed token' };
    const refusal = refusalOfHeader(head);
    if (refusal) return refusal;
    if (signature === '') return { reason: 'malformed token' };
  }
  return { reason: keys.length === 0 ? 'no secret' : 'bad signature' };
}

/**
 * Checks all of a token but its signature: undefined if it is a well-formed HS256 JWT whose claims equal the body. This does
 * not verify the token; it is only worth keeping until a secret that verifies it is known.
 */
export function inspectToken(token: string, body: JsonObject, text?: string): Refusal | undefined {
  if (text !== undefined && isPlain(token, text)) return undefined;
  const [head = '', payload = '', signature = ''] = segmentsOf(token) ?? [];
  if (signature.length !== SIGNATURE_LENGTH) return { reason: 'malformed token' };
  const refusal = refusalOfHeader(head);
  if (refusal) return refusal;
  if (text !== undefined && bytesOf(payload).equals(Buffer.from(text))) return undefined;
  const claims = parseSegment(payload);
  if (!claims) return { reason: 'malformed token' };
  const path = firstDifference(claims, body);
  return path === undefined ? undefined : { reason: 'claims differ', path: cut(path, LONGEST_PATH) };
}

function refusalOfHeader(head: string): Refusal | undefined {
  if (head === PLAIN_HEADER) return undefined;
  const header = parseSegment(head);
  if (!header) return { reason: 'malformed token' };
  if (header.alg !== 'HS256') return { reason: 'not HS256' };
  if ('crit' in header) return { reason: 'critical header' }; // RFC 7515, 4.1.11: not understood, so refused
  return undefined;
}

/** Header, claims and signature in base64url; undefined where a token is not made of these three. An unsigned one has no signature (RFC 7515, A.5). */
function segmentsOf(token: string): readonly string[] | undefined {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first < 0 || second < 0 || token.indexOf('.', second + 1) >= 0) return undefined;
  const segments = [token.slice(0, first), token.slice(first + 1, second), token.slice(second + 1)];
  const isMade = segments[0] !== '' && segments[1] !== '' && !segments.some((one) => STRANGE.test(one));
  return isMade ? segments : undefined;
}

/** Whether it is nearly every token over a text. The input is not put together: garbage of large ones is most of what a forgery costs. */
function isPlain(token: string, text: string): boolean {
  const from = PLAIN_HEADER.length + 1;
  const payload = Buffer.from(text).toString('base64url');
  const end = from + payload.length;
  if (token[from - 1] !== '.' || token[end] !== '.' || !SIGNATURE.test(token.slice(end + 1))) return false;
  return token.startsWith(PLAIN_HEADER) && token.startsWith(payload, from);
}

/** The signed part of nearly every token over a text, and the dot behind it. */
function plainInput(text: string): string {
  return `${PLAIN_HEADER}.${Buffer.from(text).toString('base64url')}.`;
}

function bytesOf(segment: string): Buffer {
  return Buffer.from(segment, 'base64url');
}

function parseSegment(segment: string): JsonObject | undefined {
  try {
    return parseJsonObject(bytesOf(segment)).value;
  } catch {
    return undefined;
  }
}

function refusalOf(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : '';
  if (message === 'invalid algorithm') return { reason: 'not HS256' };
  return { reason: message === 'invalid signature' ? 'bad signature' : 'malformed token' };
}
