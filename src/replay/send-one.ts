import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { ClientRequest } from 'node:http';
import { pauseUntilAborted, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { PostResult } from '../base/post.ts';
import { signNotification, unsignedToken } from '../notification/token.ts';
import { readBody } from './compose.ts';
import { type NotificationRequest, postNotification } from './receiver-client.ts';

/** A way in which a notification is broken; a receiver must refuse each of them. */
export type Fault = 'forged' | 'alg-none' | 'tampered' | 'iat' | 'oversized' | 'truncated' | 'slow';

/** The faults that send another body than the given one. */
export const CHANGES_BODY: ReadonlySet<Fault> = new Set(['tampered', 'iat', 'oversized', 'truncated']);

export interface Sending {
  /** the receiver */
  readonly to: URL;
  readonly key: KeyObject;
  /** breaks the notification in one way */
  readonly fault?: Fault | undefined;
  /** the receiver's limit for bodies, in bytes */
  readonly bodyLimit: number;
}

const ANSWER_MS = 10_000;
const SLOW_ANSWER_MS = 120_000;

/** Signs one notification and sends it. @throws KitError INPUT_INVALID if the fault needs a body that is a JSON object */
export async function sendNotification(body: Buffer, { to, ...breaking }: Sending) {
  const timeoutMs = breaking.fault === 'slow' ? SLOW_ANSWER_MS : ANSWER_MS;
  const began = systemClock.monotonic();
  const answer = await postNotification(to, { ...requestOf(body, breaking), timeoutMs });
  return { answer, ms: Math.round(systemClock.monotonic() - began) };
}

function requestOf(
  body: Buffer,
  { fault, key, bodyLimit }: Pick<Sending, 'fault' | 'key' | 'bodyLimit'>,
): Omit<NotificationRequest, 'timeoutMs'> {
  const token = signNotification(body, key);
  switch (fault) {
    case undefined:
      return { body, token };
    case 'forged':
      return { body, token: signNotification(body, createSecretKey(randomBytes(32))) };
    case 'alg-none':
      return { body, token: unsignedToken(body) };
    case 'tampered':
      return { body: withMember(body, 'site_id', 'tampered'), token };
    case 'iat': {
      const claims = withMember(body, 'iat', Math.floor(systemClock.now() / 1000));
      return { body, token: signNotification(claims, key) };
    }
    case 'oversized': {
      const missing = bodyLimit + 1 - Buffer.byteLength(withMember(body, 'padding', ''));
      return { body: withMember(body, 'padding', 'x'.repeat(Math.max(1, missing))), token };
    }
    case 'truncated':
      return { body, token, writeBody: (request) => cutOff(request, body) };
    case 'slow':
      return { body, token, writeBody: (request) => drip(request, body) };
  }
}

function withMember(body: Buffer, name: string, value: unknown): string {
  const read = readBody(body);
  if (read.problem === undefined) return JSON.stringify({ ...read.value, [name]: value });
  throw new KitError('INPUT_INVALID', 'this fault needs a body that is a JSON object');
}

function cutOff(request: ClientRequest, body: Buffer): void {
  // Ends the connection in order, not with a reset, which could overtake an answer.
  request.write(body.subarray(0, Math.floor(body.length / 2)), () => request.socket?.end());
}

/** Sends a byte a second, until the body ends or the receiver answers or closes the connection. */
async function drip(request: ClientRequest, body: Buffer): Promise<void> {
  const over = new AbortController();
  request.on('close', () => over.abort());
  request.on('response', () => over.abort());
  for (const byte of body) {
    await pauseUntilAborted(systemClock, 1000, over.signal);
    if (over.signal.aborted) return;
    request.write(Buffer.of(byte));
  }
  request.end();
}

/** @throws KitError REPLAY_FAILED unless the receiver took the notification, or refused a broken one */
export function checkAnswer(answer: PostResult, fault: Fault | undefined): void {
  const problem = problemOf(answer, fault);
  if (problem !== undefined) throw new KitError('REPLAY_FAILED', problem);
}

function problemOf(answer: PostResult, fault: Fault | undefined): string | undefined {
  const { status } = answer;
  if (status === undefined) {
    const mayCutOff = fault === 'truncated' || fault === 'slow';
    const isCutOff = mayCutOff && answer.type === 'unanswered' && answer.error !== 'ECONNREFUSED';
    return isCutOff ? undefined : 'the receiver gave no answer: is --to right?';
  }
  if (fault === undefined) return status === 200 ? undefined : 'the receiver did not take the notification';
  if (status < 400)
    return `the receiver took the notification although it is ${fault}: this receiver is not safe`;
  if ([404, 405].includes(status)) return 'nothing takes notifications there: correct the path of --to';
  if (status < 500) return undefined;
  return 'the receiver failed, and so has not refused the notification: send it again once it works';
}
