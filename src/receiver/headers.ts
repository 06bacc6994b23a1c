import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import helmet from 'helmet';

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
 * reason, and so is what helmet could set and is left out, since it concerns pages. They are the same for every answer,
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
