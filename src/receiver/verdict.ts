import type { IncomingMessage } from 'node:http';
import { isUnavailable } from '../base/errors.ts';
import { type ParsedBody, parseBody, UnusableBody } from '../notification/json.ts';
import { type Refusal, verifyNotification } from '../notification/token.ts';
import { label, toVerified, type VerifiedNotification } from '../store/stored.ts';
import type { Keyring } from './keyring.ts';

export interface Refused {
  readonly status: number;
  /** the text for the sender */
  readonly error: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** if the notification could not be verified: facts for the log, the metrics, the inspector and the quarantine only */
  readonly unverified?: {
    readonly refusal: Refusal;
    readonly body: ParsedBody;
    /** whether a secret that is not known yet may explain the refusal */
    readonly isUnexplained: boolean;
  };
}

/** With 503: nothing was acknowledged, so the sender must try again. */
const SOON = { 'Retry-After': '5' };
const IN_A_MINUTE = { 'Retry-After': '60' };
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

const NOT_POST = refused(405, 'only POST is allowed here', { Allow: 'POST' });
export const SHUTTING_DOWN = refused(503, 'shutting down', { ...SOON, Connection: 'close' });
export const OVERLOADED = refused(503, 'overloaded', SOON);
export const BUSY = refused(503, 'the store is busy', SOON);
export const NOTHING_HERE = refused(404, 'there is nothing here');
const NOT_RECORDED = refused(503, 'not recorded', SOON);
const INTERNAL_ERROR = refused(500, 'internal error');
const NEEDED = 'an Authorization header of the form "Bearer TOKEN" is needed';
export const NO_TOKEN = refused(401, NEEDED, CHALLENGE);
const TOO_LARGE = refused(413, 'the body is too large');
const COMPRESSED = refused(400, 'the body is compressed');
const UNREADABLE = refused(400, 'the body cannot be read');
export const UNVERIFIED = refused(401, 'the notification could not be verified', CHALLENGE);
/** In place of 401, once the source of a notification has failed too often. */
export const THROTTLED = refused(429, 'too many notifications that cannot be verified', IN_A_MINUTE);
/** How a receiver refuses the doctor's probe: with its token, and where a proxy has taken the token away. */
export const PROBE_ANSWERS = { withToken: [UNVERIFIED, THROTTLED], withoutToken: NO_TOKEN };

/**
 * The verdict as far as the head of a request decides it, so that such a refusal does not wait for the body. It depends on its
 * arguments alone.
 * @param limit bytes that a body may have
 * @param unavailable the refusal of every notification, while the receiver takes none
 * @returns the token, if the body decides
 */
export function verdictOnHead(req: IncomingMessage, limit: number, unavailable?: Refused): Refused | string {
  const { method, headers, headersDistinct } = req;
  if (method !== 'POST') return NOT_POST;
  if (unavailable) return unavailable;
  // With two headers, a proxy may have checked the other one.
  const [authorization = '', ...others] = headersDistinct.authorization ?? [];
  const [, token] = /^Bearer +(\S+)$/i.exec(others.length === 0 ? authorization : '') ?? [];
  if (token === undefined) return NO_TOKEN;
  if (Number(headers['content-length']) > limit) return TOO_LARGE;
  // No provider compresses a few hundred bytes, and a hundred compressed bytes may become the largest body.
  if (/^(?!identity$)/i.test(headers['content-encoding'] ?? 'identity')) return COMPRESSED;
  return token;
}

/**
 * The verdict on a body: whether one of the live keys of its webhook verifies it. It depends on its arguments alone.
 * @returns the notification to record, if it does
 * @throws UnusableBody
 */
export function verdictOnBody(
  token: string,
  bytes: Buffer,
  keyring: Keyring,
): VerifiedNotification | Refused {
  const body = parseBody(bytes);
  const { text, value } = body;
  const refusal = verifyNotification(token, body, keyring.keysFor(label(value.webhook_id)));
  if (!refusal) return toVerified(value, text);
  const isUnexplained = ['bad signature', 'no secret'].includes(refusal.reason);
  return { ...UNVERIFIED, unverified: { refusal, body, isUnexplained } };
}

/** The verdict after an error: of the store, of the body, of reading it (Express gives it a status), or a mistake of ours. */
export function verdictAfter(error: unknown): Refused {
  if (isUnavailable(error)) return NOT_RECORDED;
  if (error instanceof UnusableBody) return refused(400, `the body is ${error.message}`);
  const status = Error.isError(error) && 'status' in error ? Number(error.status) : 500;
  if (status === 413) return TOO_LARGE;
  return status < 500 ? UNREADABLE : INTERNAL_ERROR;
}

/** Any answer but a success. */
function refused(status: number, error: string, headers: Refused['headers'] = {}): Refused {
  return { status, error, headers };
}
