import type { Account, Token } from './accounts.ts';
import { ApiError } from './api-error.ts';

/** What an operation asks of a token. The broad scope, `read` or `write`, contains it; neither contains the other. */
export type Scope = 'read:statuses' | 'write:statuses' | 'write:media' | 'read:accounts';

/** Who calls: a token that is good, and the user it speaks for. */
export interface Caller {
  readonly token: Token;
  readonly account: Account;
}

const INVALID = 'The access token is invalid';

/** The token that an Authorization header names; undefined where it names none that the mock knows. */
export function tokenOf(header: string | undefined, tokens: ReadonlyMap<string, Token>): Token | undefined {
  const [, name] = /^bearer +(\S+)\s*$/i.exec(header ?? '') ?? [];
  return name === undefined ? undefined : tokens.get(name);
}

/**
 * Lets a caller through or says why not, in the provider's order: token, whether it still holds, scope, user.
 * @throws ApiError 401, 403 or 422
 */
export function authorize(token: Token | undefined, scope: Scope): Caller {
  const good = requireScope(token, scope);
  if (good.account === undefined) throw new ApiError(422, 'This method requires an authenticated user');
  return { token: good, account: good.account };
}

/**
 * The same for operations that do not need a user.
 * @throws ApiError 401 or 403
 */
export function requireScope(token: Token | undefined, scope: Scope): Token {
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
