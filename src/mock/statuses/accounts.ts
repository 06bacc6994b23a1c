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

/** What an operation requires of a token. */
type Scope = 'read' | 'write';

/** A bearer token, with its user and its scopes. */
interface Token {
  readonly token: string;
  readonly scopes: readonly Scope[];
  /** Absent where the token speaks for the application alone. */
  readonly account?: Account;
  /** What became of a token that is not valid any more. */
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

/** Whether a grant of each type gives a token. The mock has no page to sign in on: a code or a password is the token itself. */
const grantTypes = new Map<string, (sent: Parameters, token: Token) => boolean>([
  ['client_credentials', (_sent, { account }) => account === undefined],
  ['authorization_code', (sent, { token, account }) => account !== undefined && token === sent.code],
  ['password', (sent, { token, account }) => account?.username === sent.username && token === sent.password],
]);

/** Registers clients, and hands the known tokens out to them. */
export function signIn(clock: Clock, random: Random) {
  /** client_id and client_secret of each client */
  const clients = new Map<string, string>();
  return {
    /** `POST /api/v1/apps`. @throws ApiError 422 */
    register(sent: Parameters) {
      const name = text(sent.client_name);
      const redirect_uri = text(sent.redirect_uris);
      checkRules([
        [isBlank(name), "Application name can't be blank"],
        [isBlank(redirect_uri), "Redirect URI can't be blank"],
      ]);
      const client_id = random.id(43);
      const client_secret = random.id(43);
      clients.set(client_id, client_secret);
      const id = String(clients.size + 1);
      const website = text(sent.website) || null;
      return { id, name, website, redirect_uri, client_id, client_secret, vapid_key: '' };
    },

    /** `POST /oauth/token`. @throws ApiError 400 or 401 */
    grant(sent: Parameters) {
      const secret = clients.get(text(sent.client_id));
      if (secret === undefined || sent.client_secret !== secret) throw new ApiError(401, 'invalid_client');
      const isGranted = grantTypes.get(text(sent.grant_type));
      if (!isGranted) throw new ApiError(400, 'unsupported_grant_type');
      const token = defaultTokens.find((one) => one.ended === undefined && isGranted(sent, one));
      if (!token) throw new ApiError(400, 'invalid_grant');
      const scope = token.scopes.join(' ');
      const created_at = Math.floor(clock.now() / 1000);
      return { access_token: token.token, token_type: 'Bearer', scope, created_at };
    },
  };
}

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
  if (!token || token.ended) {
    const description = `The access token ${token?.ended ?? 'is invalid'}`;
    const challenge = `Bearer realm="Doorkeeper", error="invalid_token", error_description="${description}"`;
    throw new ApiError(401, description, { 'WWW-Authenticate': challenge });
  }
  if (!token.scopes.includes(scope)) throw new ApiError(403, 'This action is outside the authorized scopes');
  return token;
}
