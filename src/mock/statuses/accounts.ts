import type { Request, RequestHandler } from 'express';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../random.ts';
import { rateLimit } from '../requests.ts';
import { ApiError, checkRules } from './answers.ts';
import { isBlank, type Parameters, text } from './parameters.ts';

/** A user, who publishes statuses. */
export interface Account {
  readonly id: number;
  readonly username: string;
  readonly displayName: string;
}

/** A bearer token, with its user and its scopes: `read` has in it `read:statuses`, and so on. */
interface Token {
  readonly token: string;
  readonly scopes: readonly string[];
  /** Absent where the token speaks for the application alone. */
  readonly account?: Account;
  /** Why a token is not valid any more. */
  readonly ended?: 'was revoked' | 'expired';
}

/** The registered program that the tokens were issued to. */
export const application = { id: 1, name: 'hookkit mock' } as const;

export const alice: Account = { id: 1, username: 'alice', displayName: 'Alice' };
export const bob: Account = { id: 2, username: 'bob', displayName: 'Bob' };

/** The tokens that the mock knows from the start. */
export const defaultTokens: readonly Token[] = [
  { token: 'alice-rw', scopes: ['read', 'write'], account: alice },
  { token: 'alice-read', scopes: ['read'], account: alice },
  { token: 'alice-write', scopes: ['write'], account: alice },
  { token: 'bob-rw', scopes: ['read', 'write'], account: bob },
  { token: 'app-only', scopes: ['read', 'write'] },
  { token: 'alice-revoked', scopes: ['read', 'write'], account: alice, ended: 'was revoked' },
  { token: 'alice-expired', scopes: ['read', 'write'], account: alice, ended: 'expired' },
];

/** An account as the API shows it. */
export function accountEntity({ id, username, displayName }: Account, baseUrl: string) {
  const [avatar, header] = ['avatars', 'headers'].map((what) => `${baseUrl}/${what}/original/missing.png`);
  return {
    id: String(id),
    username,
    acct: username,
    display_name: displayName,
    locked: false,
    bot: false,
    discoverable: true,
    group: false,
    created_at: '2019-01-20T00:00:00.000Z',
    note: '',
    url: `${baseUrl}/@${username}`,
    avatar,
    avatar_static: avatar,
    header,
    header_static: header,
    followers_count: 0,
    following_count: 0,
    statuses_count: 0,
    last_status_at: null,
    emojis: [],
    fields: [],
  };
}

/** Which of the known tokens a grant of each type names. The mock has no page to sign in on: a code or a password is a token. */
const grantTypes = new Map<string, (sent: Parameters, token: Token) => boolean>([
  ['client_credentials', (_sent, { account }) => account === undefined],
  ['authorization_code', (sent, { token, account }) => account !== undefined && token === sent.code],
  ['password', (sent, { token, account }) => account?.username === sent.username && token === sent.password],
]);

/** Requests that one user, or one address without a token, has in a window. */
const RATE_LIMIT = 300;
/** Length of a window in milliseconds; windows begin at multiples of it. */
const RATE_WINDOW = 300_000;

interface SignIn {
  /** `POST /api/v1/apps`. @throws ApiError 422 */
  register(sent: Parameters): object;
  /** `POST /oauth/token`: a new token, of the user whom the code or password names. @throws ApiError 400 or 401 */
  grant(sent: Parameters): object;
  /** Counts the request, and sets the headers that every answer has. It throws ApiError 429 over the limit. */
  readonly countRequest: RequestHandler;
  /** The caller, which must be a user whose token has this scope. The function that it returns throws ApiError 401, 403 or 422. */
  user(scope: string): (request: Request) => Account;
  /**
   * Who reads public data: a request without a known token is anonymous; a known token must be valid and have the scope.
   * @throws ApiError 401 or 403
   */
  viewer(request: Request): Account | undefined;
}

/** Registers clients, issues tokens to them, and knows by its token who calls. */
export function signIn(clock: Clock, random: Random): SignIn {
  /** by client_id */
  const clients = new Map<string, { readonly secret: string; readonly scopes: readonly string[] }>();
  const tokens = new Map(defaultTokens.map((one) => [one.token, one]));
  const { take } = rateLimit({ clock, limit: RATE_LIMIT, windowMs: RATE_WINDOW });
  const tokenOf = (request: Request): Token | undefined => {
    const [, sent = ''] = /^bearer +(\S+)\s*$/i.exec(request.get('authorization') ?? '') ?? [];
    return tokens.get(sent);
  };

  return {
    register(sent) {
      const name = text(sent.client_name);
      const redirect_uri = text(sent.redirect_uris);
      checkRules([
        [isBlank(name), "Application name can't be blank"],
        [isBlank(redirect_uri), "Redirect URI can't be blank"],
      ]);
      const client_id = random.id(43);
      const client_secret = random.id(43);
      clients.set(client_id, { secret: client_secret, scopes: scopesOf(sent.scopes) });
      const id = String(clients.size + 1);
      const website = text(sent.website) || null;
      return { id, name, website, redirect_uri, client_id, client_secret, vapid_key: '' };
    },

    grant(sent) {
      const client = clients.get(text(sent.client_id));
      if (client === undefined || sent.client_secret !== client.secret)
        throw new ApiError(401, 'invalid_client');
      const isNamed = grantTypes.get(text(sent.grant_type));
      if (!isNamed) throw new ApiError(400, 'unsupported_grant_type');
      const named = defaultTokens.find((one) => one.ended === undefined && isNamed(sent, one));
      if (!named) throw new ApiError(400, 'invalid_grant');
      // The user has granted a code already: all that the client registered, we assume, where it does not say.
      const isCode = sent.grant_type === 'authorization_code' && isBlank(text(sent.scope));
      const scopes = isCode ? client.scopes : scopesOf(sent.scope);
      if (!scopes.every((scope) => client.scopes.includes(scope))) throw new ApiError(400, 'invalid_scope');
      const token = random.id(43);
      tokens.set(token, { ...named, token, scopes });
      const created_at = Math.floor(clock.now() / 1000);
      return { access_token: token, token_type: 'Bearer', scope: scopes.join(' '), created_at };
    },

    countRequest(request, response, next) {
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
    },

    user: (scope) => (request) => {
      const { account } = withScope(tokenOf(request), scope);
      if (account === undefined) throw new ApiError(422, 'This method requires an authenticated user');
      return account;
    },

    viewer(request) {
      const token = tokenOf(request);
      return token && withScope(token, 'read:statuses').account;
    },
  };
}

/** The scopes in a text, one after another; `read` where there is none. */
function scopesOf(sent: unknown): string[] {
  return text(sent).match(/\S+/g) ?? ['read'];
}

/**
 * Checks a token in the provider's order: whether it is known, whether it is valid, its scope.
 * @param scope such as `write:statuses`, which `write` has in it
 * @throws ApiError 401 or 403
 */
function withScope(token: Token | undefined, scope: string): Token {
  if (!token || token.ended) {
    const description = `The access token ${token?.ended ?? 'is invalid'}`;
    const challenge = `Bearer realm="Doorkeeper", error="invalid_token", error_description="${description}"`;
    throw new ApiError(401, description, { 'WWW-Authenticate': challenge });
  }
  const [whole = ''] = scope.split(':');
  if (!token.scopes.includes(scope) && !token.scopes.includes(whole))
    throw new ApiError(403, 'This action is outside the authorized scopes');
  return token;
}
