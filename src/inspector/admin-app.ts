import express, { type Express } from 'express';
import { apiRouter } from './api/api-router.ts';
import type { Inspected } from './api/endpoint.ts';
import { assets } from './assets.ts';
import { Guesses } from './guard/guesses.ts';
import { guardHost, guardOrigin } from './guard/hosts.ts';
import { pagePolicy } from './guard/page-policy.ts';
import { refuse, refuseFailed } from './guard/refuse.ts';
import { Sessions } from './guard/session.ts';
import { guardToken, tokenCheck } from './guard/sign-in.ts';
import { pagesRouter } from './pages/pages.ts';
import { renderer } from './pages/render.ts';
import { scrape } from './watch/scrape.ts';

/** Pages, API and metrics, behind the checks of Host, Origin and token. */
export function adminApp(inspected: Inspected): Express {
  const { config, clock, log, watch, pages } = inspected;
  const app = express();
  app.set('query parser', 'simple');
  app.disable('x-powered-by');
  app.set('trust proxy', config.ADMIN_TRUST_PROXY);
  app.use(pagePolicy);
  app.use(guardHost({ adminHost: config.ADMIN_HOST, names: config.ADMIN_NAMES ?? [] }), guardOrigin);
  app.use('/assets', assets());
  const render = renderer({ mayLeave: config.ADMIN_TOKEN !== undefined, hasApp: pages !== undefined });
  if (config.ADMIN_TOKEN !== undefined) {
    const check = tokenCheck(config.ADMIN_TOKEN);
    const count = (result: 'wrong' | 'unchecked') => watch.metrics.guessed(result);
    const guesses = new Guesses({ check, clock, log, count });
    app.use(guardToken({ guesses, sessions: new Sessions(clock), log, render }));
  }
  app.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store'); // a shared cache or a later reader of this browser has no token
    next();
  });
  app.get('/metrics', async (_req, res) => {
    const text = await watch.metrics.text(await scrape(inspected), clock.now());
    res.type(watch.metrics.contentType).send(text);
  });
  app.use('/api', apiRouter(inspected));
  if (pages) app.use('/app', pages.handler);
  app.use(pagesRouter(inspected, render));
  app.use((req, res) => refuse(req, res, 404, 'there is nothing here'));
  app.use(refuseFailed(log));
  return app;
}
