import type { Request, RequestHandler } from 'express';
import type { Clock } from '../../base/clock.ts';
import { rateLimit } from '../rate-limit.ts';
import { type Account, defaultTokens, type Scope, type Token } from './accounts.ts';
import { ApiError } from './answers.ts';

/** Requests that one user, or one address without a token, has in a window. */
const RATE_LIMIT = 300;
/** Length of a window in milliseconds; windows begin at multiples of it. */
const RATE_WINDOW = 300_000;

/** Counts the request, and sets the headers that every answer has. The handler throws ApiError 429 over the limit. */
export function countRequests(clock: Clock): RequestHandler {
  const { take } = rateLimit({ clock, limit: RATE_LIMIT, windowMs: RATE_WINDOW });
  return (request, response, next) => {
    const account = tokenOf(request)?.account;
    const remaining = take(account ? `account ${account.id}` : `address ${request.ip}`);
    const now = clock.now();
    const elapsed = (Math.floor(now / 1000) * 1000) % RATE_WINDOW;
    response.set({
      // Clients compute the time of the reset from the answer's date, so that is the time on the mock's clock.
      Date: new Date(now).toUTCString(),
      'Cache-Control': 'no-store',
      'X-RateLimit-Limit': String(RATE_LIMIT),
      'X-RateLimit-Remaining': String(Math.max(0, remaining)),
      // The fraction of the second is that of now, as on the real servers.
      'X-RateLimit-Reset': new Date(now + RATE_WINDOW - elapsed).toISOString().replace('Z', '000Z'),
    });
    if (remaining < 0) throw new ApiError(429, 'Too many requests');
    next();
  };
}

/** Who calls, which must be a user whose token has this scope. @throws ApiError 401, 403 or 422 */
export function user(scope: Scope): (request: Request) => Account {
  return (request) => {
    const { account } = withScope(tokenOf(request), scope);
    if (account === undefined) throw new ApiError(422, 'This method requires an authenticated user');
    return account;
  };
}

/**
 * Who reads public data: a request without a known token is anonymous; a known token must be valid and have the scope.
 * @throws ApiError 401 or 403
 */
export function viewer(request: Request): Account | undefined {
  const token = tokenOf(request);
  return token && withScope(token, 'read').account;
}

function tokenOf(request: Request): Token | undefined {
  const [, sent] = /^bearer +(\S+)\s*$/i.exec(request.get('authorization') ?? '') ?? [];
  return defaultTokens.find(({ token }) => token === sent);
}

/** Checks a token in the provider's order: whether it is known, whether it is valid, its scope. @throws ApiError 401 or 403 */
function withScope(token: Token | undefined, scope: Scope): Token {
  if (token === undefined) throw unauthorized('The access token is invalid');
  if (token.ended === 'revoked') throw unauthorized('The access token was revoked');
  if (token.ended === 'expired') throw unauthorized('The access token expired');
  if (!token.scopes.includes(scope)) throw new ApiError(403, 'This action is outside the authorized scopes');
  return token;
}

function unauthorized(description: string): ApiError {
  const challenge = `Bearer realm="Doorkeeper", error="invalid_token", error_description="${description}"`;
  return new ApiError(401, description, { headers: { 'WWW-Authenticate': challenge } });
}
