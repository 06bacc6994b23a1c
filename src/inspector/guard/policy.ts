import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** What a page may load and do: only what comes from here, nothing inline, nobody frames it. */
export const policy: RequestHandler = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'], // Pico's icons are data URLs
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  // With no-referrer, browsers send `Origin: null` with the forms of our own pages.
  referrerPolicy: { policy: 'same-origin' },
  // Whether it is reached by https is for what stands in front to say, and to demand.
  strictTransportSecurity: false,
});
