import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import helmet from 'helmet';
import type { Refused } from './verdict.ts';

/** Header fields as they are sent, by name. */
type Headers = Readonly<Record<string, string>>;

/** Answers a refusal. All refusals have this form, and never say more than a sender may know. */
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

const NOTHING = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };

/** docs/security.md gives the reason of each header, and of each header of helmet that is left out because it concerns pages. */
const protections = [
  helmet.contentSecurityPolicy({ useDefaults: false, directives: NOTHING }),
  helmet.crossOriginResourcePolicy({ policy: 'same-origin' }),
  helmet.referrerPolicy({ policy: 'no-referrer' }),
  // Without subdomains: other services may run there, over plain http.
  helmet.strictTransportSecurity({ maxAge: 31_536_000, includeSubDomains: false }),
  helmet.noSniff(),
  helmet.frameguard({ action: 'deny' }),
];

const SAME_FOR_ALL = { 'Cache-Control': 'no-store', 'Content-Type': 'application/json; charset=utf-8' };
// Helmet is asked once, as its headers never change: asked for each answer, it took a seventh of an ack's time.
const setHeader = (name: string, value: string) => Object.assign(SAME_FOR_ALL, { [name]: value });
for (const protect of protections)
  protect({} as IncomingMessage, { setHeader } as unknown as ServerResponse, () => {});
