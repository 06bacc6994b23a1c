import express, { type Request, type RequestHandler, Router } from 'express';
import { rateLimit } from 'express-rate-limit';
import type { Logger } from 'pino';
import type { Render } from '../pages/render.ts';
import { refuse } from './refuse.ts';
import type { Sessions } from './session.ts';

export interface SignInOptions {
  /** whether a token is the right one */
  readonly check: (token: string) => boolean;
  readonly sessions: Sessions;
  readonly log: Logger;
  readonly render: Render;
}

const MINUTE_MS = 60_000;
/** Wrong tokens a minute and source; the right one is never throttled. */
const WRONG_TOKENS = 30;

/** Lets in who has the token or a session, shows others the page to sign in on, and answers programs with 401. */
export function guardToken(options: SignInOptions): Router {
  const { check, sessions, log, render } = options;
  const router = Router();
  const limit = rateLimit({
    windowMs: MINUTE_MS,
    limit: WRONG_TOKENS,
    standardHeaders: false,
    legacyHeaders: false,
    validate: { xForwardedForHeader: false, forwardedHeader: false },
    handler: (req, res) => refuse(req, res.set('Retry-After', '60'), 429, 'too many wrong tokens'),
  });

  router.get('/sign-in', (_req, res) => render(res, 'sign-in', { title: 'Sign in', wrong: false }));
  router.post(
    '/sign-in',
    express.urlencoded({ extended: false, limit: '4kb' }),
    (req, res, next) => {
      const token: unknown = req.body?.token;
      if (typeof token !== 'string' || !check(token)) return next();
      res.cookie(...sessions.begin({ secure: isSecure(req) }));
      res.redirect(303, '/');
    },
    limit,
    (req, res) => {
      log.warn({ source: req.ip }, 'sign-in with a wrong token');
      render(res.status(401), 'sign-in', { title: 'Sign in', wrong: true });
    },
  );
  router.post('/sign-out', (_req, res) => {
    res.clearCookie(...sessions.end());
    res.redirect(303, '/sign-in');
  });

  const letIn: RequestHandler = (req, res, next) => {
    const token = bearerOf(req);
    if (token === undefined ? sessions.isAlive(req.headers.cookie) : check(token)) return next('router');
    if (token === undefined && isPage(req)) return res.redirect(303, '/sign-in');
    next();
  };
  const turnAway: RequestHandler = (req, res) => {
    res.set('WWW-Authenticate', 'Bearer');
    refuse(req, res, 401, 'ADMIN_TOKEN is needed: as a Bearer token, or sign in at /sign-in');
  };
  const countWrong: RequestHandler = (req, res, next) =>
    bearerOf(req) === undefined ? next() : limit(req, res, next);
  router.use(letIn, countWrong, turnAway);
  return router;
}

function bearerOf({ headers }: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

function isPage(req: Request): boolean {
  const wantsPage =
    !req.path.startsWith('/api/') && req.path !== '/metrics' && req.accepts(['json', 'html']) === 'html';
  return wantsPage && (req.method === 'GET' || req.method === 'HEAD');
}

/** A cookie for https alone, where the reader came by it. */
function isSecure({ headers }: Request): boolean {
  return headers.origin?.startsWith('https:') ?? false;
}
