import { createHash, randomBytes } from 'node:crypto';
import type { CookieOptions, Response } from 'express';
import type { Clock } from '../../base/clock.ts';

const NAME = 'hookkit_session';
const LASTS_MS = 12 * 3_600_000;
/** A program that signs in at every request must not fill the memory. */
const MOST_SESSIONS = 1000;

/** The session of a reader who has signed in. */
export interface Session {
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
