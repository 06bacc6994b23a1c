import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import express, { type CookieOptions, type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { sourceOf } from '../../base/request-source.ts';
import { type Render, rootOf } from '../pages/render.ts';
import type { Guesses } from './guesses.ts';
import { refuse } from './refuse.ts';

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
function ownPath(to: unknown): string {
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

const NAME = 'hookkit_session';
const LASTS_MS = 12 * 3_600_000;
/** A program that signs in at every request must not fill the memory. */
const MOST_SESSIONS = 1000;

/** The session of a reader who has signed in. */
interface Session {
  /** The answers under way, such as a live tail: they end with the session. */
  readonly answers: Set<Response>;
  readonly cancelExpiry: () => void;
}

/**
 * Sessions of readers who have signed in. The sessions are kept here, not in the cookies, so a cookie of an ended session
 * is worth nothing. No session outlives the process.
 */
export class Sessions {
  /** by digest, so that the time of a look-up says nothing about the cookies of others */
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The name, value and options of a new session's cookie. */
  begin(options: Pick<CookieOptions, 'secure'>): [string, string, CookieOptions] {
    const value = randomBytes(32).toString('base64url');
    const digest = digestOf(value);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MOST_SESSIONS && oldest !== undefined) this.#end(oldest);
    const cancelExpiry = this.#clock.after(LASTS_MS, () => this.#end(digest));
    this.#sessions.set(digest, { answers: new Set(), cancelExpiry });
    return [NAME, value, { ...this.#options, ...options, maxAge: LASTS_MS }];
  }

  /** Ends the sessions of a Cookie header, with their answers under way. @returns the arguments that clear the cookie */
  end(header: string | undefined): [string, CookieOptions] {
    for (const value of valuesIn(header)) this.#end(digestOf(value));
    return [NAME, this.#options];
  }

  /** The session of a Cookie header, if this process began it and it has not ended. */
  find(header: string | undefined): Session | undefined {
    for (const value of valuesIn(header)) {
      const session = this.#sessions.get(digestOf(value));
      if (session) return session;
    }
    return undefined;
  }

  #end(digest: string): void {
    const session = this.#sessions.get(digest);
    if (!session) return;
    this.#sessions.delete(digest);
    session.cancelExpiry();
    for (const answer of session.answers) cutShort(answer);
  }

  get #options(): CookieOptions {
    return { httpOnly: true, sameSite: 'strict', path: '/' };
  }
}

/** Ends a live tail as streams end, so that its page reconnects; cuts off an answer that has not begun. */
function cutShort(answer: Response): void {
  if (answer.headersSent) answer.end();
  else answer.destroy();
}

/** The values under our name in a Cookie header; a browser may send several. */
function valuesIn(header = ''): string[] {
  return header.split(/; */).flatMap((pair) => COOKIE.exec(pair)?.[1] ?? []);
}

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}

const COOKIE = new RegExp(`^${NAME}=([\\w-]{43})$`);
