import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import express, { type Request, type RequestHandler, Router } from 'express';
import type { Logger } from 'pino';
import { sourceOf } from '../../base/request-source.ts';
import type { Render } from '../pages/render.ts';
import type { Guesses } from './guesses.ts';
import { refuse } from './refuse.ts';
import type { Session, Sessions } from './session.ts';

export interface SignInOptions {
  /** whether a token is the right one */
  readonly check: (token: string) => boolean;
  readonly guesses: Guesses;
  readonly sessions: Sessions;
  readonly log: Logger;
  readonly render: Render;
}

/** Lets a session or the token pass, redirects readers to the sign-in page, and answers programs with 401. */
export function guardToken({ check, guesses, sessions, log, render }: SignInOptions): Router {
  const router = Router();

  /** Over the limit of wrong tokens, no token is checked. */
  const limit: RequestHandler = (req, res, next) => {
    const waitMs = guesses.waitMs(sourceOf(req.ip));
    if (waitMs === 0) return next();
    guesses.unchecked(sourceOf(req.ip));
    const seconds = Math.ceil(waitMs / 1000);
    refuse(
      req,
      res.set('Retry-After', String(seconds)),
      429,
      `too many wrong tokens: no token is checked for the next ${seconds} s`,
    );
  };
  const tryToken = (req: Request, token: string): boolean => {
    const isRight = check(token);
    if (isRight) guesses.right(sourceOf(req.ip));
    else guesses.wrong(sourceOf(req.ip));
    return isRight;
  };

  router.get('/sign-in', (_req, res) => render(res, 'sign-in', { title: 'Sign in', wrong: false }));
  // The limit is checked after the body: else many requests at once could pass it while their bodies are read.
  router.post('/sign-in', express.urlencoded({ extended: false, limit: '4kb' }), limit, (req, res) => {
    const token: unknown = req.body?.token;
    if (!tryToken(req, typeof token === 'string' ? token : '')) {
      return render(res.status(401), 'sign-in', { title: 'Sign in', wrong: true });
    }
    log.info({ source: req.ip }, 'signed in');
    res.cookie(...sessions.begin({ secure: isSecure(req) }));
    res.redirect(303, '/');
  });
  router.post('/sign-out', (req, res) => {
    res.clearCookie(...sessions.end(req.headers.cookie));
    res.redirect(303, '/sign-in');
  });

  // A session comes first: guesses of others, even from the same address, do not shut it out.
  router.use((req, res, next) => {
    const session = sessions.find(req.headers.cookie);
    if (!session) return next();
    tie(session, res);
    next('router');
  });
  const letIn: RequestHandler = (req, _res, next) => {
    const token = bearerOf(req);
    next(token !== undefined && tryToken(req, token) ? 'router' : undefined);
  };
  const limitTokens: RequestHandler = (req, res, next) =>
    bearerOf(req) === undefined ? next() : limit(req, res, next);
  const turnAway: RequestHandler = (req, res) => {
    if (bearerOf(req) === undefined && isPage(req)) return res.redirect(303, '/sign-in');
    res.set('WWW-Authenticate', 'Bearer');
    refuse(req, res, 401, 'ADMIN_TOKEN is needed: as a Bearer token, or sign in at /sign-in');
  };
  router.use(limitTokens, letIn, turnAway);
  return router;
}

function tie({ answers }: Session, res: express.Response): void {
  answers.add(res);
  res.once('close', () => answers.delete(res));
}

function bearerOf({ headers }: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

function isPage(req: Request): boolean {
  const wantsPage =
    !req.path.startsWith('/api/') && req.path !== '/metrics' && req.accepts(['json', 'html']) === 'html';
  return wantsPage && (req.method === 'GET' || req.method === 'HEAD');
}

/** Whether the reader came by https: the cookie is then for https only. */
function isSecure({ headers }: Request): boolean {
  return headers.origin?.startsWith('https:') ?? false;
}

/** Makes a check of tokens, whose time does not depend on how much of a token is right. */
export function tokenCheck(token: string): (given: string) => boolean {
  // Digests under a random key have one length, and a client cannot choose them.
  const key = randomBytes(32);
  const digest = (text: string) => createHmac('sha256', key).update(text, 'utf8').digest();
  const expected = digest(token);
  return (given) => timingSafeEqual(digest(given), expected);
}
