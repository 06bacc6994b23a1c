import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { hostOf, isForeign, isLoopback } from '../base/request-origin.ts';
import { apiRouter } from './api/api-router.ts';
import type { Inspected } from './api/endpoint.ts';
import { refuse, refuseFailed } from './guard/refuse.ts';
import { guardToken } from './guard/sign-in.ts';
import { pagesRouter } from './pages/pages.ts';
import { renderer } from './pages/render.ts';
import { scrape } from './watch/scrape.ts';

/** Pages, API and metrics, behind the checks of Host, Origin and token. */
export function adminApp(inspected: Inspected): Express {
  const { config, log, watch, pages, isDev = false } = inspected;
  const token = config.ADMIN_TOKEN;
  const app = express();
  app.set('trust proxy', config.ADMIN_TRUST_PROXY);
  app.use(pagePolicy);
  app.use(guard(config));
  // Scripts and styles contain no data, so they need no token; the sign-in page uses them.
  app.use('/assets', express.static(join(import.meta.dirname, 'assets')));
  for (const [name, path] of Object.entries(PACKAGED))
    app.get(`/assets/${name}`, (_req, res) => res.sendFile(path, { dotfiles: 'allow' })); // such as pnpm's .pnpm
  const render = renderer({ mayLeave: token !== undefined, hasApp: pages !== undefined, isDev });
  if (token !== undefined) app.use(guardToken(inspected, token, render));
  app.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store'); // a shared cache or a later reader of this browser has no token
    next();
  });
  app.get('/metrics', async (_req, res) => {
    res.type(watch.metrics.registry.contentType).send(await scrape(inspected));
  });
  app.use('/api', apiRouter(inspected));
  if (pages) app.use('/app', pages);
  app.use(pagesRouter(inspected, render));
  app.use((req, res) => refuse(req, res, 404, 'there is nothing here'));
  app.use(refuseFailed(log));
  return app;
}

// Express reads its tables of encodings from the disk for the first body, and the program may not be there any more by then.
const emptyBody = Object.assign(Readable.from([]), { headers: { 'content-length': '0' } });
express.json({ type: () => true })(emptyBody as unknown as Request, {} as Response, () => {});

const { resolve } = createRequire(import.meta.url);

/** The files of installed packages that pages load, unchanged: there is no build step and no foreign host. */
const PACKAGED: Readonly<Record<string, string>> = {
  'htmx.js': resolve('htmx.org/dist/htmx.min.js'),
  'hx-sse.js': resolve('htmx.org/dist/ext/hx-sse.min.js'),
  'pico.css': resolve('@picocss/pico/css/pico.min.css'),
};

type Names = Pick<Inspected['config'], 'ADMIN_HOST' | 'ADMIN_NAMES'>;

/**
 * Whether the Host of a request is a name of this listener. A foreign page can make its own name lead to 127.0.0.1 (DNS
 * rebinding), and the browser then takes both for one origin; but the page cannot change the name in the request.
 */
export function isOwnHost(header: string | undefined, { ADMIN_HOST, ADMIN_NAMES = [] }: Names): boolean {
  const name = hostOf(header)?.name;
  if (name === undefined) return false;
  if (isLoopback(name) || name === ADMIN_HOST.toLowerCase() || ADMIN_NAMES.includes(name)) return true;
  // A listener on all addresses has each of them as a name; an address cannot be rebound.
  return ['0.0.0.0', '::'].includes(ADMIN_HOST) && isIP(name) !== 0;
}

/** Refuses requests with a foreign name, and from pages of other sites. */
function guard(names: Names): RequestHandler {
  return (req, res, next) => {
    if (!isOwnHost(req.headers.host, names))
      return refuse(req, res, 421, 'this host name is not allowed: add it to ADMIN_NAMES');
    if (isForeign(req.headers, req.method))
      return refuse(req, res, 403, 'requests from other sites are refused');
    next();
  };
}

/** Pages load only from this listener, run nothing inline, and cannot be framed. */
const pagePolicy: RequestHandler = helmet({
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
