import { randomUUID } from 'node:crypto';
import type { Response } from 'express';
import type { Refused } from './verdict.ts';

/** Header fields as they are sent, by name. */
type Headers = Readonly<Record<string, string>>;

/** Every answer that is not a success has this one form, and never says more than its sender may know. */
export function answerError(res: Response, { status, error, headers }: Refused): void {
  answer(res, status, { error }, headers);
}

/** Answers with JSON. */
export function answer(res: Response, status: number, body: object, headers: Headers = {}): void {
  const text = JSON.stringify(body);
  const own = { 'X-Request-Id': requestIdOf(res), 'Content-Length': Buffer.byteLength(text) };
  res.writeHead(status, { ...SAME_FOR_ALL, ...own, ...headers }).end(text);
}

/** Names a request in its answer and in the log. It is random, as a number that goes up would tell strangers how many there are. */
export function requestIdOf(res: Response): string {
  res.locals.requestId ??= randomUUID();
  return res.locals.requestId;
}

/** Each of these headers is in docs/security.md with its reason. They never change, so no middleware sets them anew. */
const SAME_FOR_ALL: Headers = {
  'Cache-Control': 'no-store',
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000', // not for subdomains: they are not ours to speak for
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};
