import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import helmet from 'helmet';

/** Header fields as they are sent, by name. */
type Headers = Readonly<Record<string, string>>;

/** The content of an answer that is not a success. */
export interface ErrorAnswer {
  readonly status: number;
  readonly error: string;
  readonly headers?: Headers;
}

/** Every answer that is not a success has this one shape, and never says more than its sender may know. */
export function answerError(res: Response, { status, error, headers }: ErrorAnswer): void {
  answer(res, status, { error }, headers);
}

/**
 * Answers with JSON, and with all headers at once: setting them one by one, as Express does, took 2 % of an ack's time. Nothing
 * else here writes headers.
 */
export function answer(res: Response, status: number, body: object, headers: Headers = {}): void {
  const text = JSON.stringify(body);
  const lines = [
    ...SAME_FOR_ALL,
    'X-Request-Id',
    String(res.req.id),
    'Content-Length',
    String(Buffer.byteLength(text)),
  ];
  for (const name in headers) lines.push(name, headers[name] ?? '');
  res.writeHead(status, lines).end(text);
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
 * Headers that are the same for every answer, names and values in turn. Each of them is in docs/security.md with its reason,
 * and so are the headers of helmet that are left out, since they concern pages. Helmet is asked for them once: asked for each
 * answer, it took a seventh of an ack's time.
 */
const SAME_FOR_ALL: readonly string[] = (() => {
  const lines = ['Cache-Control', 'no-store', 'Content-Type', 'application/json; charset=utf-8'];
  const collector = { setHeader: (name: string, value: string) => lines.push(name, value) };
  protect({} as IncomingMessage, collector as unknown as ServerResponse, () => {});
  return lines;
})();
