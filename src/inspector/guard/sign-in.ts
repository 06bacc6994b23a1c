import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import express, { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { sourceOf } from '../../base/request-source.ts';
import { rootOf } from '../pages/page.ts';
import type { Render } from '../pages/render.ts';
import type { Guesses } from './guesses.ts';
import { refuse } from './refuse.ts';
import type { Session, Sessions } from './session.ts';

export interface SignInOptions {
  readonly guesses: Guesses;
  readonly sessions: Sessions;
  readonly log: Logger;
  readonly render: Render;
}

/** Lets a session or the token pass, redirects readers to the sign-in page, and answers programs with 401. */
export function guardToken({ guesses, sessions, log, render }: SignInOptions): Router {
  const router = Router();

  /** Whether the token is the right one. Over the limit of wrong tokens no token is checked, and the answer is given here. */
  const check = async (req: Request, res: Response, token: string): Promise<boolean | undefined> => {
    const verdict = await guesses.check(sourceOf(req.ip), token);
    if (typeof verdict === 'boolean') return verdict;
    const seconds = Math.ceil(verdict.waitMs / 1000);
    const error = `too many wrong tokens: no token is checked for the next ${seconds} s`;
    refuse(req, res.set('Retry-After', String(seconds)), 429, error);
    return undefined;
  };
  const show = (res: Response, to: string, wrong: boolean) =>
    render(res, 'sign-in', { title: 'Sign in', to, wrong });

  router.get('/sign-in', (req, res) => show(res, ownPath(req.query.to), false));
  router.post('/sign-in', express.urlencoded({ extended: false, limit: '4kb' }), async (req, res) => {
    const { token, to } = req.body ?? {};
    const isRight = await check(req, res, typeof token === 'string' ? token : '');
    if (isRight === undefined) return;
    if (!isRight) return show(res.status(401), ownPath(to), true);
    log.info({ source: req.ip }, 'signed in');
    res.cookie(...sessions.begin({ secure: isSecure(req) }));
    res.redirect(303, `.${ownPath(to)}`);
  });
  router.post('/sign-out', (req, res) => {
    res.clearCookie(...sessions.end(req.headers.cookie));
    res.redirect(303, './sign-in');
  });

  router.use(async (req, res, next) => {
    // A session comes first: guesses of others, even from the same address, do not shut it out.
    const session = sessions.find(req.headers.cookie);
    if (session) tie(session, res);
    const token = session ? undefined : bearerOf(req);
    const isRight = token === undefined ? false : await check(req, res, token);
    if (session || isRight) return next('router');
    if (isRight === undefined) return;
    if (token === undefined && isPage(req)) {
      const query = req.originalUrl === '/' ? '' : `?${new URLSearchParams({ to: req.originalUrl })}`;
      return res.redirect(303, `${rootOf(req)}sign-in${query}`);
    }
    res.set('WWW-Authenticate', 'Bearer');
    refuse(req, res, 401, 'ADMIN_TOKEN is needed: as a Bearer token, or sign in at /sign-in');
  });
  return router;
}

const HERE = 'http://here.invalid';

/** The page to go on to: a path of this listener, whatever a link to the sign-in page says; the overview without one. */
export function ownPath(to: unknown): string {
  if (typeof to !== 'string' || !URL.canParse(to, HERE)) return '/';
  const { origin, pathname, search } = new URL(to, HERE);
  // A browser takes what begins with two slashes for another host.
  return origin === HERE && !pathname.startsWith('//') ? pathname + search : '/';
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
