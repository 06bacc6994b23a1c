import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import { type Clock, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { parseBody } from '../notification/json.ts';
import { signNotification } from '../notification/token.ts';
import type { NotificationRequest } from './receiver-client.ts';

/** A way in which a notification is broken; a receiver must refuse each of them. */
export type Fault = 'forged' | 'alg-none' | 'tampered' | 'iat' | 'oversized' | 'truncated' | 'slow';

/** The faults that send another body than the given one. */
export const CHANGES_BODY: ReadonlySet<Fault> = new Set(['tampered', 'iat', 'oversized', 'truncated']);

const SLOW_MS = 1000;

export interface Breaking {
  /** undefined: the notification is sent as the provider sends it */
  readonly fault: Fault | undefined;
  readonly key: KeyObject;
  /** the receiver's limit for bodies, in bytes */
  readonly bodyLimit: number;
}

/**
 * The request for a notification, broken in one way.
 * @throws KitError INPUT_INVALID if the fault needs a body that is a JSON object
 */
export function faultyRequest(
  body: Buffer,
  { fault, key, bodyLimit }: Breaking,
): Omit<NotificationRequest, 'timeoutMs'> {
  const token = signNotification(body, key);
  switch (fault) {
    case undefined:
      return { body, token };
    case 'forged':
      return { body, token: signNotification(body, createSecretKey(randomBytes(32))) };
    case 'alg-none':
      return { body, token: `${segment('{"alg":"none","typ":"JWT"}')}.${segment(body)}.` };
    case 'tampered':
      return { body: withMember(body, 'site_id', 'tampered'), token };
    case 'iat': {
      const claims = withMember(body, 'iat', Math.floor(systemClock.now() / 1000));
      return { body, token: signNotification(claims, key) };
    }
    case 'oversized': {
      const large = withMember(body, 'padding', '');
      const padding = 'x'.repeat(Math.max(1, bodyLimit + 1 - Buffer.byteLength(large)));
      return { body: withMember(body, 'padding', padding), token };
    }
    case 'truncated':
      return { body, token, writeBody: cutOff };
    case 'slow':
      return { body, token, writeBody: (request, slow) => drip(request, slow, systemClock) };
  }
}

function segment(content: string | Buffer): string {
  return Buffer.from(content).toString('base64url');
}

function withMember(body: string | Buffer, name: string, value: unknown): string {
  try {
    return JSON.stringify({ ...parseBody(Buffer.from(body)).value, [name]: value });
  } catch (cause) {
    throw new KitError('INPUT_INVALID', 'this fault needs a body that is a JSON object', { cause });
  }
}

function cutOff(request: ClientRequest, body: string | Buffer): void {
  const bytes = Buffer.from(body);
  // Ends the connection in order, not with a reset, which could overtake an answer.
  request.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => request.socket?.end());
}

/** Sends a byte a second, until the body ends or the receiver answers or closes the connection. */
function drip(request: ClientRequest, body: string | Buffer, clock: Clock): void {
  const bytes = Buffer.from(body);
  let cancel = () => {};
  const sendFrom = (sent: number) => {
    cancel = clock.after(SLOW_MS, () => {
      request.write(bytes.subarray(sent, sent + 1));
      if (sent + 1 < bytes.length) sendFrom(sent + 1);
      else request.end();
    });
  };
  sendFrom(0);
  request.on('close', () => cancel());
  request.on('response', () => cancel());
}
