import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
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
  const check = (req: Request, res: Response, token: string): boolean | undefined => {
    const verdict = guesses.check(sourceOf(req.ip), token);
    if (typeof verdict === 'boolean') return verdict;
    const seconds = Math.ceil(verdict.waitMs / 1000);
    const error = `too many wrong tokens: no token is checked for the next ${seconds} s`;
    refuse(req, res.set('Retry-After', String(seconds)), 429, error);
    return undefined;
  };
  const show = (res: Response, to: string, wrong: boolean) =>
    render(res, 'sign-in', { title: 'Sign in', to, wrong });

  router.get('/sign-in', (req, res) => show(res, ownPath(req.query.to), false));
  router.post('/sign-in', express.urlencoded({ extended: false, limit: '4kb' }), (req, res) => {
    const { token, to } = req.body ?? {};
    const isRight = check(req, res, typeof token === 'string' ? token : '');
    if (isRight === undefined) return;
    if (!isRight) return show(res.status(401), ownPath(to), true);
    log.info({ source: req.ip }, 'signed in');
    // The cookie is for https only if the reader came by it.
    const secure = req.headers.origin?.startsWith('https:') ?? false;
    res.cookie(NAME, sessions.begin(), { ...COOKIE, secure, maxAge: LASTS_MS });
    res.redirect(303, `.${ownPath(to)}`);
  });
  router.post('/sign-out', (req, res) => {
    sessions.end(req.headers.cookie);
    res.clearCookie(NAME, COOKIE);
    res.redirect(303, './sign-in');
  });

  router.use((req, res, next) => {
    // A session comes first: guesses of others, even from the same address, do not shut it out.
    if (sessions.admit(req.headers.cookie, res)) return next('router');
    const token = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    if (token === undefined && isPage(req)) {
      const query = req.originalUrl === '/' ? '' : `?${new URLSearchParams({ to: req.originalUrl })}`;
      return res.redirect(303, `${rootOf(req)}sign-in${query}`);
    }
    const isRight = token === undefined ? false : check(req, res, token);
    if (isRight === undefined) return;
    if (isRight) return next('router');
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

function isPage(req: Request): boolean {
  const wantsPage =
    !req.path.startsWith('/api/') && req.path !== '/metrics' && req.accepts(['json', 'html']) === 'html';
  return wantsPage && (req.method === 'GET' || req.method === 'HEAD');
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
/** Without a path, the cookie is for the path of the sign-in page: two inspectors below paths of one host keep apart. */
const COOKIE: CookieOptions = { httpOnly: true, sameSite: 'strict', path: '' };
const IN_HEADER = new RegExp(`(?<=^|; *)${NAME}=([\\w-]{43})(?=;|$)`, 'g');
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
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a session. @returns the value of its cookie */
  begin(): string {
    const value = randomBytes(32).toString('base64url');
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MOST_SESSIONS && oldest !== undefined) this.#end(oldest);
    const cancelExpiry = this.#clock.after(LASTS_MS, () => this.#end(value));
    this.#sessions.set(value, { answers: new Set(), cancelExpiry });
    return value;
  }

  /** Whether a Cookie header has a session that this process began and that has not ended. The answer ends with the session. */
  admit(header: string | undefined, answer: Response): boolean {
    const session = valuesIn(header).flatMap((value) => this.#sessions.get(value) ?? [])[0];
    session?.answers.add(answer);
    answer.once('close', () => session?.answers.delete(answer));
    return session !== undefined;
  }

  /** Ends the sessions of a Cookie header, with their answers under way. */
  end(header: string | undefined): void {
    for (const value of valuesIn(header)) this.#end(value);
  }

  #end(value: string): void {
    const session = this.#sessions.get(value);
    this.#sessions.delete(value);
    session?.cancelExpiry();
    for (const answer of session?.answers ?? []) {
      // A live tail ends as streams end, so that its page reconnects.
      if (answer.headersSent) answer.end();
      else answer.destroy();
    }
  }
}

/** The values under our name in a Cookie header; a browser may send several. */
function valuesIn(header = ''): string[] {
  return [...header.matchAll(IN_HEADER)].flatMap(([, value = '']) => value);
}
