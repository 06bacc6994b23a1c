import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CookieOptions } from 'express';
import type { Clock } from '../../clock.ts';

const NAME = 'hookkit_session';
const LASTS_MS = 12 * 3_600_000;

/** Sessions of people who have signed in: a time of expiry, signed with a key that lives as long as the process. */
export class Sessions {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The name, value and options of a new session's cookie. */
  begin(options: Pick<CookieOptions, 'secure'>): [string, string, CookieOptions] {
    const expires = this.#clock.now() + LASTS_MS;
    const value = `${expires}.${this.#sign(String(expires)).toString('base64url')}`;
    return [NAME, value, { ...this.#options, ...options, maxAge: LASTS_MS }];
  }

  /** The name and options with which the cookie is taken away. */
  end(): [string, CookieOptions] {
    return [NAME, this.#options];
  }

  /** Whether a Cookie header holds a session that was begun here and is not over. */
  isAlive(header: string | undefined): boolean {
    return (header ?? '').split(/; */).some((pair) => {
      const [, expires = '', signature = ''] = COOKIE.exec(pair) ?? [];
      if (expires === '' || Number(expires) <= this.#clock.now()) return false;
      return timingSafeEqual(Buffer.from(signature, 'base64url'), this.#sign(expires));
    });
  }

  get #options(): CookieOptions {
    return { httpOnly: true, sameSite: 'strict', path: '/' };
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}

/** A signature of exactly 32 bytes in base64url, so that the comparison is of equal lengths. */
const COOKIE = new RegExp(`^${NAME}=(\\d{1,15})\\.([\\w-]{43})$`);
