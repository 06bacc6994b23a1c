import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** Pages load only from this listener, run nothing inline, and cannot be framed. */
export const pagePolicy: RequestHandler = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'], // Pico's icons are data URLs
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'self'"], // links are relative to the root, wherever a proxy has it
      frameAncestors: ["'none'"],
    },
  },
  // With no-referrer, browsers send `Origin: null` with the forms of our own pages.
  referrerPolicy: { policy: 'same-origin' },
  // The proxy in front decides whether https is used, and demands it.
  strictTransportSecurity: false,
});
