import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import express, { type CookieOptions, type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { sourceOf } from '../../base/request-source.ts';
import type { Inspected } from '../api/endpoint.ts';
import { type Render, rootOf } from '../pages/render.ts';
import { RefusedError, refuse } from './refuse.ts';

/** The rights of a token or a session. */
type Right = 'change' | 'read';

/**
 * Lets a session or the token pass, redirects readers to the sign-in page, and answers programs with 401. What only reads changes nothing,
 * and gets pages without buttons.
 */
export function guardToken({ config, clock, log }: Inspected, token: string, render: Render): Router {
  const router = Router();
  const guess = guessesOf(tokenCheck(token, config.ADMIN_READ_TOKEN), clock, log);
  const sessions = sessionsBy(clock);

  /** What a token allows. @throws RefusedError 429 over the limit of wrong tokens, when no token is checked */
  const check = (req: Request, res: Response, token: string): Right | undefined => {
    const verdict = guess(sourceOf(req.ip), token);
    if (typeof verdict !== 'object') return verdict;
    const seconds = Math.ceil(verdict.waitMs / 1000);
    res.set('Retry-After', String(seconds));
    throw new RefusedError(429, `too many wrong tokens: no token is checked for the next ${seconds} s`);
  };
  const show = (res: Response, to: string, wrong: boolean) =>
    render(res, 'sign-in', { title: 'Sign in', to, wrong });

  router.get('/sign-in', (req, res) => show(res, ownPath(req.query.to), false));
  router.post('/sign-in', express.urlencoded({ extended: false, limit: '4kb' }), (req, res) => {
    const { token, to } = req.body ?? {};
    const right = check(req, res, typeof token === 'string' ? token : '');
    if (!right) return show(res.status(401), ownPath(to), true);
    log.info({ source: req.ip }, 'signed in');
    // The cookie is for https only if the reader came by it.
    const secure = req.headers.origin?.startsWith('https:') ?? false;
    res.cookie(NAME, sessions.begin(right), { ...COOKIE, secure, maxAge: LASTS_MS });
    res.redirect(303, `.${ownPath(to)}`);
  });
  router.post('/sign-out', (req, res) => {
    sessions.end(req.headers.cookie);
    res.clearCookie(NAME, COOKIE);
    res.redirect(303, './sign-in');
  });

  router.use((req, res, next) => {
    const token = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    const isReading = /^(GET|HEAD)$/.test(req.method);
    // A session comes first: guesses of others, even from the same address, do not shut it out.
    const right = sessions.rightOf(req.headers.cookie) ?? (token && check(req, res, token));
    if (right) {
      res.locals.mayOnlyRead = right === 'read';
      if (right === 'change' || isReading) return next('router');
      return refuse(req, res, 403, 'the token only reads (ADMIN_READ_TOKEN): a change needs ADMIN_TOKEN');
    }
    const isPage = isReading && !req.path.startsWith('/api/') && req.path !== '/metrics';
    if (token === undefined && isPage && req.accepts(['json', 'html']) === 'html') {
      const query = req.originalUrl === '/' ? '' : `?${new URLSearchParams({ to: req.originalUrl })}`;
      return res.redirect(303, `${rootOf(req)}sign-in${query}`);
    }
    res.set('WWW-Authenticate', 'Bearer');
    refuse(req, res, 401, 'ADMIN_TOKEN is needed: as a Bearer token, or sign in at /sign-in');
  });
  return router;
}

/** The page to go on to: a path of this listener, whatever a link to the sign-in page says; the overview without one. */
function ownPath(to: unknown): string {
  // A browser takes what begins with two slashes for another host.
  return typeof to === 'string' && /^\/(?![/\\])/.test(to) ? to : '/';
}

/** Makes a check of tokens, whose time does not depend on how much of a token is right. */
function tokenCheck(change: string, read: string | undefined): (given: string) => Right | undefined {
  const digest = (text: string) => hash('sha256', text, 'buffer'); // all of one length
  const [all, reading] = [digest(change), read && digest(read)];
  return (given) => {
    if (timingSafeEqual(digest(given), all)) return 'change';
    return reading && timingSafeEqual(digest(given), reading) ? 'read' : undefined;
  };
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** After so many wrong tokens within a minute, no token is checked. */
const WRONG_OF_A_SOURCE = 10;
const WRONG_IN_ALL = 100;

/**
 * Limits guesses of the admin token. Over the limit no token is checked, so that the right token gets the same answer as any other.
 * Guesses of strangers do not shut out a source that had the right token within a day: for that source, only its own wrong tokens count.
 * Nothing here waits, so that of guesses which come at one moment each sees those before it.
 * @param rightOf what a token allows; undefined if it is a wrong one
 * @returns a function that says the same of a token from a source, or after how many milliseconds one of this source will be checked
 */
export function guessesOf(rightOf: (token: string) => Right | undefined, clock: Clock, log: Logger) {
  /** the source of each wrong token of this minute */
  let wrong: string[] = [];
  let minuteEnds = 0;
  /** when each source had the right token last */
  const known = new Map<string, number>();

  return (source: string, token: string): Right | { readonly waitMs: number } | undefined => {
    const now = clock.now();
    if (now >= minuteEnds) {
      wrong = [];
      minuteEnds = now + MINUTE_MS;
    }
    const isKnown = now - (known.get(source) ?? Number.NEGATIVE_INFINITY) < DAY_MS;
    const own = wrong.filter((one) => one === source).length;
    if (own >= WRONG_OF_A_SOURCE || (wrong.length >= WRONG_IN_ALL && !isKnown))
      return { waitMs: minuteEnds - now };
    const right = rightOf(token);
    if (right) {
      known.set(source, now);
    } else {
      wrong.push(source);
      log.warn({ source }, 'wrong admin token');
    }
    return right;
  };
}

const NAME = 'hookkit_session';
/** Without a path, the cookie is for the path of the sign-in page: two inspectors below paths of one host keep apart. */
const COOKIE: CookieOptions = { httpOnly: true, sameSite: 'strict', path: '' };
const IN_HEADER = new RegExp(`(?<=^|; *)${NAME}=([\\w-]{43})(?=;|$)`, 'g');
const LASTS_MS = 12 * 3_600_000;
/** Of each right: a program that signs in at every request must not fill the memory, nor one that only reads sign the others out. */
const MOST_SESSIONS = 1000;

/**
 * Sessions of readers who have signed in. The sessions are kept here, not in the cookies, so a cookie of an ended session
 * is worth nothing. No session outlives the process.
 */
export function sessionsBy(clock: Clock) {
  const sessions = new Map<string, { readonly right: Right; readonly endsAt: number }>();
  return {
    /** Begins a session. @returns the value of its cookie */
    begin(right: Right): string {
      const value = randomBytes(32).toString('base64url');
      const alike = [...sessions].filter(([, session]) => session.right === right);
      for (const [oldest] of alike.slice(0, 1 - MOST_SESSIONS)) sessions.delete(oldest);
      sessions.set(value, { right, endsAt: clock.now() + LASTS_MS });
      return value;
    },

    /** What the session of a Cookie header allows, if this process began it and it has not ended. */
    rightOf: (header: string | undefined) =>
      valuesIn(header)
        .flatMap((value) => sessions.get(value) ?? [])
        .find(({ endsAt }) => endsAt > clock.now())?.right,

    /** Ends the sessions of a Cookie header. */
    end(header: string | undefined): void {
      for (const value of valuesIn(header)) sessions.delete(value);
    },
  };
}

/** The values under our name in a Cookie header; a browser may send several. */
function valuesIn(header = ''): string[] {
  return [...header.matchAll(IN_HEADER)].flatMap(([, value = '']) => value);
}
