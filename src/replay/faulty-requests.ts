import { type KeyObject, randomBytes } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import { KitError } from '../base/errors.ts';
import type { Fault } from '../cli/events/single/fault-names.ts';
import { parseJsonObject } from '../notification/json.ts';
import { keyOf, signNotification } from '../notification/token.ts';
import type { Post } from './receiver-client.ts';

const SLOW_MS = 1000;

/** What is sent for a notification: as the provider does it, or broken in one way. */
export function broken(
  fault: Fault | undefined,
  body: Buffer,
  key: KeyObject,
  bodyLimit: number,
): Pick<Post, 'body' | 'token' | 'writeBody'> {
  const token = signNotification(body, key);
  switch (fault) {
    case undefined:
      return { body, token };
    case 'forged':
      return { body, token: signNotification(body, keyOf(randomBytes(32).toString('hex'))) };
    case 'alg-none':
      return { body, token: `${segment('{"alg":"none","typ":"JWT"}')}.${segment(body)}.` };
    case 'tampered':
      return { body: withMember(body, 'site_id', 'tampered'), token };
    case 'iat':
      return { body, token: signNotification(withMember(body, 'iat', Math.floor(Date.now() / 1000)), key) };
    case 'oversized': {
      const large = withMember(body, 'padding', '');
      const padding = 'x'.repeat(Math.max(1, bodyLimit + 1 - Buffer.byteLength(large)));
      return { body: withMember(body, 'padding', padding), token };
    }
    case 'truncated':
      return { body, token, writeBody: cutOff };
    case 'slow':
      return { body, token, writeBody: drip };
  }
}

function segment(content: string | Buffer): string {
  return Buffer.from(content).toString('base64url');
}

function withMember(body: string | Buffer, name: string, value: unknown): string {
  try {
    return JSON.stringify({ ...parseJsonObject(Buffer.from(body)).value, [name]: value });
  } catch (cause) {
    throw new KitError('INPUT_INVALID', 'this fault needs a body that is a JSON object', { cause });
  }
}

function cutOff(request: ClientRequest, body: string | Buffer): void {
  const bytes = Buffer.from(body);
  // Ends the connection in order, not with a reset, which could overtake an answer.
  request.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => request.socket?.end());
}

function drip(request: ClientRequest, body: string | Buffer): void {
  const bytes = Buffer.from(body);
  let sent = 0;
  const timer = setInterval(() => {
    request.write(bytes.subarray(sent, ++sent));
    if (sent === bytes.length) request.end(() => clearInterval(timer));
  }, SLOW_MS);
  request.on('close', () => clearInterval(timer));
  request.on('response', () => clearInterval(timer));
}
