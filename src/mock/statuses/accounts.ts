/** A user, who publishes statuses. */
export interface Account {
  readonly id: number;
  readonly username: string;
  readonly displayName: string;
}

/** The registered program that a token was issued to. */
export interface Application {
  readonly id: number;
  readonly name: string;
}

/** A bearer token, with its user and its scopes. */
export interface Token {
  readonly token: string;
  /** Such as `read`, `write`, `read:statuses`. */
  readonly scopes: readonly string[];
  readonly application: Application;
  /** Absent where the token speaks for the application alone. */
  readonly account?: Account;
  /** Why the token is not valid any more; absent while it is valid. */
  readonly ended?: 'revoked' | 'expired';
}

const application: Application = { id: 1, name: 'hookkit mock' };
const alice: Account = { id: 1, username: 'alice', displayName: 'Alice' };
const bob: Account = { id: 2, username: 'bob', displayName: 'Bob' };

/** The tokens that the mock knows from the start. */
export const defaultTokens: readonly Token[] = [
  { token: 'alice-rw', scopes: ['read', 'write'], application, account: alice },
  { token: 'alice-read', scopes: ['read'], application, account: alice },
  { token: 'alice-write', scopes: ['write'], application, account: alice },
  { token: 'bob-rw', scopes: ['read', 'write'], application, account: bob },
  { token: 'app-only', scopes: ['read', 'write'], application },
  { token: 'alice-revoked', scopes: ['read', 'write'], application, account: alice, ended: 'revoked' },
  { token: 'alice-expired', scopes: ['read', 'write'], application, account: alice, ended: 'expired' },
];

/** When the accounts of the mock were made; a constant, so that the same seed gives the same answers. */
const CREATED_AT = '2019-01-20T00:00:00.000Z';

/** An account as the API shows it. */
export function accountEntity(account: Account, baseUrl: string) {
  const url = `${baseUrl}/@${account.username}`;
  return {
    id: String(account.id),
    username: account.username,
    acct: account.username,
    display_name: account.displayName,
    locked: false,
    bot: false,
    discoverable: true,
    group: false,
    created_at: CREATED_AT,
    note: '',
    url,
    avatar: `${baseUrl}/avatars/original/missing.png`,
    avatar_static: `${baseUrl}/avatars/original/missing.png`,
    header: `${baseUrl}/headers/original/missing.png`,
    header_static: `${baseUrl}/headers/original/missing.png`,
    followers_count: 0,
    following_count: 0,
    statuses_count: 0,
    last_status_at: null,
    emojis: [],
    fields: [],
  };
}
