import type { Request, RequestHandler } from 'express';
import type { Clock } from '../../base/clock.ts';
import { RateLimit } from '../rate-limit.ts';
import type { Account, Token } from './accounts.ts';
import { ApiError } from './api-error.ts';

/** The scope that an operation requires. A token with the broad scope, `read` or `write`, has it too. */
export type Scope = 'read:statuses' | 'write:statuses' | 'write:media' | 'read:accounts';

/** The sender of a request: a valid token, and the user that it speaks for. */
export interface Caller {
  readonly token: Token;
  readonly account: Account;
}

const INVALID = 'The access token is invalid';

/** Requests that one user, or one address without a token, has in a window. */
export const RATE_LIMIT = 300;
/** Length of a window in milliseconds; windows begin at multiples of it. */
export const RATE_WINDOW = 300_000;

/** Decides who may use the API, and how often. */
export class Gate {
  readonly #tokens: ReadonlyMap<string, Token>;
  readonly #clock: Clock;
  readonly #rateLimit: RateLimit;

  constructor(tokens: readonly Token[], clock: Clock) {
    this.#tokens = new Map(tokens.map((token) => [token.token, token]));
    this.#clock = clock;
    this.#rateLimit = new RateLimit({
      clock,
      limit: RATE_LIMIT,
      windowMs: RATE_WINDOW,
      begin: 'at multiples',
    });
  }

  /** Counts the request, and sets the headers that every answer has. @throws ApiError 429 over the limit */
  readonly count: RequestHandler = (request, response, next) => {
    const account = this.#token(request)?.account;
    const key = account === undefined ? `address ${request.ip}` : `account ${account.id}`;
    // Clients compute the time of the reset from the answer's date, so that is the time on the mock's clock.
    response.set('Date', new Date(this.#clock.now()).toUTCString());
    const remaining = this.#rateLimit.take(key);
    response.set({
      'Cache-Control': 'no-store',
      'X-RateLimit-Limit': String(RATE_LIMIT),
      'X-RateLimit-Remaining': String(Math.max(0, remaining)),
      'X-RateLimit-Reset': resetAfter(this.#clock.now()),
    });
    if (remaining < 0) throw new ApiError(429, 'Too many requests');
    next();
  };

  /** @throws ApiError 401, 403 or 422 */
  user(request: Request, scope: Scope): Caller {
    return authorize(this.#token(request), scope);
  }

  /**
   * For public data: a request without a known token is anonymous; a known token must be valid and have the scope.
   * @throws ApiError 401 or 403
   */
  anybody(request: Request, scope: Scope): Token | undefined {
    const token = this.#token(request);
    return token && requireScope(token, scope);
  }

  clear(): void {
    this.#rateLimit.clear();
  }

  #token(request: Request): Token | undefined {
    return tokenOf(request.get('authorization'), this.#tokens);
  }
}

/** ISO 8601 with microseconds. The fraction of the second is that of now, as on the real servers. */
function resetAfter(now: number): string {
  const second = Math.floor(now / 1000) * 1000;
  const reset = second + RATE_WINDOW - (second % RATE_WINDOW) + (now % 1000);
  return new Date(reset).toISOString().replace('Z', '000Z');
}

/** The token of an Authorization header; undefined if the mock does not know it. */
function tokenOf(header: string | undefined, tokens: ReadonlyMap<string, Token>): Token | undefined {
  const [, name] = /^bearer +(\S+)\s*$/i.exec(header ?? '') ?? [];
  return name === undefined ? undefined : tokens.get(name);
}

/**
 * Checks the token of a caller in the provider's order: whether it is known, whether it is valid, its scope, its user.
 * @throws ApiError 401, 403 or 422
 */
function authorize(token: Token | undefined, scope: Scope): Caller {
  const good = requireScope(token, scope);
  if (good.account === undefined) throw new ApiError(422, 'This method requires an authenticated user');
  return { token: good, account: good.account };
}

/**
 * The same for operations that do not need a user.
 * @throws ApiError 401 or 403
 */
function requireScope(token: Token | undefined, scope: Scope): Token {
  if (token === undefined) throw unauthorized(INVALID);
  if (token.ended === 'revoked') throw unauthorized('The access token was revoked');
  if (token.ended === 'expired') throw unauthorized('The access token expired');
  const broad = scope.split(':')[0] ?? scope;
  if (!token.scopes.includes(scope) && !token.scopes.includes(broad)) {
    throw new ApiError(403, 'This action is outside the authorized scopes');
  }
  return token;
}

function unauthorized(description: string): ApiError {
  return new ApiError(401, description, {
    'WWW-Authenticate': `Bearer realm="Doorkeeper", error="invalid_token", error_description="${description}"`,
  });
}
