import type { RequestHandler } from 'express';
import helmet from 'helmet';

/**
 * The headers of a service that answers with JSON and nothing else. Each of them is in docs/security.md with its reason,
 * and so is what helmet could set and is left out, since it concerns pages.
 */
export const securityHeaders: readonly RequestHandler[] = [
  helmet({
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
    xPoweredBy: true, // takes it away
    crossOriginEmbedderPolicy: false,
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  }),
  (_req, res, next) => {
    res.set('Cache-Control', 'no-store');
    next();
  },
];
