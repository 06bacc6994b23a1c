import { createHash, randomBytes } from 'node:crypto';
import type { CookieOptions, Response } from 'express';
import type { Clock } from '../../base/clock.ts';

const NAME = 'hookkit_session';
const LASTS_MS = 12 * 3_600_000;
/** Each of them had the token; a program that signs in at every request must not fill memory. */
const MOST_SESSIONS = 1000;

/** Somebody who has signed in. */
export interface Session {
  /** Ties an answer to it: one that is still under way when the session ends, such as a live tail, ends with it. */
  readonly answers: Set<Response>;
  readonly cancelExpiry: () => void;
}

/**
 * Sessions of people who have signed in. They are kept here, not in their cookies: one that has ended is gone, whoever
 * kept its cookie. None outlives the process.
 */
export class Sessions {
  /** by digest, so that looking one up takes a time that says nothing of the cookies that there are */
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

  /** Ends the sessions of a Cookie header, and what is under way in them. @returns what takes the cookie away */
  end(header: string | undefined): [string, CookieOptions] {
    for (const value of valuesIn(header)) this.#end(digestOf(value));
    return [NAME, this.#options];
  }

  /** The session of a Cookie header, if it was begun here and has not ended. */
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

/** A live tail ends as streams end, which its page takes calmly; an answer that has not begun must not look like one. */
function cutShort(answer: Response): void {
  if (answer.headersSent) answer.end();
  else answer.destroy();
}

/** What stands in a Cookie header under our name; a browser may send several. */
function valuesIn(header = ''): string[] {
  return header.split(/; */).flatMap((pair) => COOKIE.exec(pair)?.[1] ?? []);
}

function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}

const COOKIE = new RegExp(`^${NAME}=([\\w-]{43})$`);
