import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Response } from 'express';
import helmet from 'helmet';

/** Answers with JSON. */
export function answer(res: Response, status: number, body: object, headers: OutgoingHttpHeaders = {}): void {
  const text = JSON.stringify(body);
  const own = { 'X-Request-Id': requestIdOf(res), 'Content-Length': Buffer.byteLength(text) };
  res.writeHead(status, { ...SAME_FOR_ALL, ...own, ...headers }).end(text);
}

/**
 * Names a request in its answer, in the log and with its event: as a trusted proxy does, or else at random, as a number that goes up would
 * tell strangers how many there are.
 */
export function requestIdOf({ locals, req }: Response): string {
  const [given] = /^[\w\-.:=/+@]{1,128}$/.exec(req.get('X-Request-Id') ?? '') ?? [];
  locals.requestId ??= (req.app.get('trust proxy') > 0 && given) || randomUUID();
  return locals.requestId;
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
