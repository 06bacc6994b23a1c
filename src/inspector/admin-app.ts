import express, { type ErrorRequestHandler, type Express } from 'express';
import { messageOf } from '../base/errors.ts';
import { apiRouter } from './api/api-router.ts';
import { Refused } from './api/endpoint.ts';
import type { Parts } from './api/lookups.ts';
import { assets } from './assets.ts';
import { Guesses } from './guard/guesses.ts';
import { guardHost, guardOrigin } from './guard/hosts.ts';
import { policy } from './guard/policy.ts';
import { refuse } from './guard/refuse.ts';
import { Sessions } from './guard/session.ts';
import { guardToken } from './guard/sign-in.ts';
import { tokenCheck } from './guard/token.ts';
import { pagesRouter } from './pages/pages.ts';
import { renderer } from './pages/render.ts';

/** Pages, API and metrics, behind the checks of who asks. */
export function adminApp(parts: Parts): Express {
  const { config, clock, log, store, watch } = parts;
  const app = express();
  app.set('query parser', 'simple');
  app.disable('x-powered-by');
  app.set('trust proxy', config.ADMIN_TRUST_PROXY);
  app.use(policy);
  app.use(guardHost({ adminHost: config.ADMIN_HOST, names: config.ADMIN_NAMES ?? [] }), guardOrigin);
  app.use('/assets', assets());
  const render = renderer({ mayLeave: config.ADMIN_TOKEN !== undefined });
  if (config.ADMIN_TOKEN !== undefined) {
    const check = tokenCheck(config.ADMIN_TOKEN);
    const guesses = new Guesses({ clock, log, count: (result) => watch.metrics.guessed(result) });
    app.use(guardToken({ check, guesses, sessions: new Sessions(clock), log, render }));
  }
  app.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store'); // a shared cache or a later reader of this browser has no token
    next();
  });
  app.get('/metrics', async (_req, res) => {
    // While they cannot be read at all, as with another key, it is not known; the other metrics are.
    const unreadable = await store.unreadableSecrets().then(
      ({ length }) => length,
      () => Number.NaN,
    );
    const text = await watch.metrics.text(await store.overview(), unreadable, clock.now());
    res.type(watch.metrics.contentType).send(text);
  });
  app.use('/api', apiRouter(parts));
  app.use(pagesRouter(parts, render));
  app.use((req, res) => refuse(req, res, 404, 'there is nothing here'));
  app.use(lastResort(parts));
  return app;
}

function lastResort({ log }: Pick<Parts, 'log'>): ErrorRequestHandler {
  return (error, req, res, _next) => {
    if (res.headersSent) return void res.destroy();
    if (error instanceof Refused) return refuse(req, res, error.status, error.message);
    const status: unknown = error?.status;
    if (typeof status === 'number' && status >= 400 && status < 500) {
      return refuse(req, res, status, 'the request cannot be read');
    }
    log.error({ error: messageOf(error), path: req.path }, 'admin request failed');
    refuse(req, res, 500, 'internal error; the log says more');
  };
}
