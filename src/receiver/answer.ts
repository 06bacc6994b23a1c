import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { logOutcome } from './request-log.ts';

/** Answers with JSON. Express's own way looks for caches and content types that do not matter here. */
export function answer(res: Response, status: number, body: object): void {
  const text = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

/** The content of an answer that is not a success. */
export interface ErrorAnswer {
  readonly status: number;
  readonly error: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Every answer that is not a success has this one shape, and never says more than its sender may know. */
export function answerError(res: Response, { status, error, headers = {} }: ErrorAnswer): void {
  for (const name in headers) res.setHeader(name, headers[name] ?? '');
  if (status >= 500) logOutcome(res.req);
  answer(res, status, { error });
}

const protect = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  crossOriginResourcePolicy: { policy: 'same-origin' },
  referrerPolicy: { policy: 'no-referrer' },
  // Not for subdomains: they are not ours to speak for.
  strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: false },
  xContentTypeOptions: true,
  xFrameOptions: { action: 'deny' },
  xPoweredBy: false, // Express is told not to send it
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

/**
 * Sets the headers of a service that answers with JSON and nothing else. Each of them is in docs/security.md with its
 * reason, and so are the headers of helmet that are left out, since they concern pages. They are the same for every answer,
 * so helmet is asked for them once: asked for each, it took a seventh of an ack's time.
 */
export function securityHeaders(): RequestHandler {
  const headers = new Map([['Cache-Control', 'no-store']]);
  const collector = { setHeader: (name: string, value: string) => headers.set(name, value) };
  protect({} as IncomingMessage, collector as unknown as ServerResponse, () => {});
  return (_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    next();
  };
}
