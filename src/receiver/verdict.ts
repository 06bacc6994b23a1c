import type { KeyObject } from 'node:crypto';
import { isUnavailable } from '../base/errors.ts';
import { decode, type JsonObject, type Outline, outlineOf, parseOutlined } from '../notification/json.ts';
import { claimsOf, type Refusal, signerOf, unsigned, verifySigned } from '../notification/token.ts';
import type { VerifiedNotification } from '../store/event-store.ts';
import { label, toVerified } from '../store/verified.ts';
import type { Keyring } from './keyring.ts';
import type { BodyProblem } from './read-body.ts';

/** The decision about a request on the webhook path. */
export type Verdict = Accepted | Refused;

export interface Accepted {
  readonly type: 'accepted';
  /** the notification to record */
  readonly notification: VerifiedNotification;
}

export interface Refused {
  readonly type: 'refused';
  readonly status: number;
  /** the text for the sender */
  readonly error: string;
  readonly headers: Readonly<Record<string, string>>;
  /** whether it counts as a failure of its source */
  readonly isFailure: boolean;
  /** if the notification could not be verified: facts for the log, the metrics and the inspector only */
  readonly unverified?: Unverified;
}

export interface Unverified {
  readonly refusal: Refusal;
  /** the kind that the body claims */
  readonly kind: string;
  readonly webhookId: string;
  /** the keys that do not verify the token */
  readonly keys: readonly KeyObject[];
  readonly token: string;
  /** the body's content, unless it has too many pieces to be read before its signature is verified */
  readonly content: Content | undefined;
}

/** A body's text, and the value of it. */
export interface Content {
  readonly text: string;
  readonly value: JsonObject;
}

/** The content of the first lines of a request. */
export interface Head {
  readonly method: string;
  /** of the Authorization header; undefined unless it is `Bearer` and one token */
  readonly token: string | undefined;
  /** bytes that the body will have; NaN where that is not announced */
  readonly contentLength: number;
  readonly contentEncoding: string | undefined;
  /** whether the body comes in chunks, perhaps without an end */
  readonly isChunked: boolean;
}

/** A request whose body has come. */
export interface Complete {
  readonly head: Head;
  readonly body: Uint8Array | BodyProblem;
}

/** The live keys, by webhook. */
export type Keys = Pick<Keyring, 'keysFor' | 'everyKey' | 'mostKeys'>;

/** The limits of requests, when one begins. */
export interface Limits {
  /** bytes that a body may have */
  readonly bodyLimit: number;
  readonly isShuttingDown: boolean;
  /** whether too many requests wait for their commit */
  readonly isOverloaded: boolean;
  /** whether the source of the request has failed too often */
  readonly isThrottled: boolean;
}

/** How long a sender waits before it tries again: after a 503, and once it is throttled. In seconds. */
const RETRY_SECONDS = 5;
const THROTTLED_SECONDS = 60;

const CLOSE = { Connection: 'close' };
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

const NOT_POST = refused(405, 'only POST is allowed here', { headers: { Allow: 'POST' } });
const SHUTTING_DOWN = unavailable('shutting down', CLOSE);
/** Too many requests wait for their commit. */
export const OVERLOADED = unavailable('overloaded');
const NOT_RECORDED = unavailable('not recorded');
const INTERNAL_ERROR = refused(500, 'internal error');
/** The rest of the body is not read. */
const TOO_LARGE = refused(413, 'the body is too large', { headers: CLOSE });
const NO_TOKEN = failure(401, 'an Authorization header of the form "Bearer TOKEN" is needed', CHALLENGE);
const UNVERIFIED = failure(401, 'the notification could not be verified', CHALLENGE);
const THROTTLED = failure(429, 'too many notifications that cannot be verified', {
  'Retry-After': String(THROTTLED_SECONDS),
});
const COMPRESSED = failure(400, 'the body is compressed');
const UNREADABLE = failure(400, 'the body cannot be read');

/**
 * The verdict on a request: the table of answers, from its first row to its last. It depends on its arguments alone.
 *
 * It is asked twice. The head alone is enough to refuse most requests, and the body is not waited for then. Everything that
 * comes before the right signature is linear in the bytes that came, and small.
 * @returns undefined if the head does not decide
 */
export function verdictOn(request: Complete, keys: Keys, limits: Limits): Verdict;
export function verdictOn(request: { readonly head: Head }, keys: Keys, limits: Limits): Refused | undefined;
export function verdictOn(
  { head, body }: { readonly head: Head; readonly body?: Complete['body'] },
  keys: Keys,
  limits: Limits,
): Verdict | undefined {
  const { token } = head;
  if (head.method !== 'POST') return NOT_POST;
  if (limits.isShuttingDown) return SHUTTING_DOWN;
  if (limits.isOverloaded) return OVERLOADED;
  if (head.contentLength > limits.bodyLimit) return TOO_LARGE;
  if (token === undefined) return unread(NO_TOKEN, head);
  if (limits.isThrottled && !isSigned(token, keys)) return unread(THROTTLED, head);
  if (isCompressed(head)) return unread(COMPRESSED, head);
  if (body === undefined) return undefined;
  if (body === 'too large') return { ...TOO_LARGE, isFailure: true };
  if (typeof body === 'string') return UNREADABLE;
  try {
    return verdictOnContent(token, body, keys);
  } catch (error) {
    if (error instanceof SyntaxError) return failure(400, `the body is ${error.message}`);
    throw error;
  }
}

/** @throws SyntaxError if the body is not one unmistakable JSON object in UTF-8 */
function verdictOnContent(token: string, bytes: Uint8Array, keys: Keys): Verdict {
  const outline = outlineOf(bytes);
  const content = contentIfFew(bytes, outline);
  const webhookId = label(outline.webhookId);
  const live = keys.keysFor(webhookId);
  const signer = signerOf(token, live, keys.mostKeys);
  const unverified = { token, webhookId, kind: label(outline.event), keys: live, content };
  if (!signer) return { ...UNVERIFIED, unverified: { ...unverified, refusal: unsigned(token, live) } };
  // Only a sender with a live secret gets this far.
  const { text, value } = content ?? contentOf(bytes, outline);
  const refusal = verifySigned(token, value, signer, text);
  if (refusal) return { ...UNVERIFIED, unverified: { ...unverified, refusal } };
  return { type: 'accepted', notification: toVerified(value, text) };
}

/** The provider's bodies have eight pieces; making a value of very many takes longer than an unsigned request may cost. */
const FEW_PIECES = 500;

/** Undefined if it has too many pieces to be read before it is verified. */
function contentIfFew(bytes: Uint8Array, outline: Outline): Content | undefined {
  return outline.pieces > FEW_PIECES ? undefined : contentOf(bytes, outline);
}

function contentOf(bytes: Uint8Array, outline: Outline): Content {
  const text = decode(bytes);
  return { text, value: parseOutlined(text, bytes, outline) };
}

/** 429 in place of 401, once the source of a notification has failed too often. */
export function throttled({ unverified }: Refused): Refused {
  return unverified ? { ...THROTTLED, unverified } : THROTTLED;
}

/** 503 in place of any verdict, if the store could not read or commit; 500 after another error of ours. */
export function verdictAfter(error: unknown): Refused {
  return isUnavailable(error) ? NOT_RECORDED : INTERNAL_ERROR;
}

/** The token of an Authorization header, where it is `Bearer` and one token. */
export function bearerOf(authorization: string): string | undefined {
  if (!/^Bearer /i.test(authorization)) return undefined;
  let start = BEARER.length;
  while (authorization[start] === ' ') start++;
  const token = authorization.slice(start);
  return token === '' || token.includes(' ') || token.includes('\t') ? undefined : token;
}

const BEARER = 'Bearer ';

/** So many keys are tried on a token without reading its claims for the webhook that they name. */
const FEW_KEYS = 2;

/** Whether a token may verify, judged by the token alone. */
function isSigned(token: string, keys: Keys): boolean {
  const claims = claimsOf(token);
  if (claims === undefined) return false;
  const every = keys.everyKey(FEW_KEYS);
  if (every) return signerOf(token, every, 1) !== undefined;
  const live = keys.keysFor(claimedWebhook(claims));
  return signerOf(token, live, keys.mostKeys) !== undefined;
}

/** The webhook that claims name, as they stand in a token; empty if they name none. */
export function claimedWebhook(claims: string): string {
  return ifJson(() => label(outlineOf(Buffer.from(claims, 'base64url')).webhookId)) ?? '';
}

/** The content of a body that is not verified yet; undefined if it is no JSON object, or has too many pieces. */
export function unverifiedContent(bytes: Uint8Array): Content | undefined {
  return ifJson(() => contentIfFew(bytes, outlineOf(bytes)));
}

/** Undefined if what is read is no JSON object. */
function ifJson<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** No provider compresses a few hundred bytes, and a hundred compressed bytes may become the largest body. */
export function isCompressed({ contentEncoding }: Head): boolean {
  return contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity';
}

/** A body in chunks might never end: its sender is told that the rest is not read. */
function unread(verdict: Refused, { isChunked }: Head): Refused {
  return isChunked ? { ...verdict, headers: { ...verdict.headers, ...CLOSE } } : verdict;
}

/** 503: nothing was recorded, so the sender must try again. */
export function unavailable(error: string, headers: Refused['headers'] = {}): Refused {
  return refused(503, error, { headers: { 'Retry-After': String(RETRY_SECONDS), ...headers } });
}

function failure(status: number, error: string, headers: Refused['headers'] = {}): Refused {
  return refused(status, error, { headers, isFailure: true });
}

function refused(
  status: number,
  error: string,
  { headers = {}, isFailure = false }: Partial<Pick<Refused, 'headers' | 'isFailure'>> = {},
): Refused {
  return { type: 'refused', status, error, headers, isFailure };
}
