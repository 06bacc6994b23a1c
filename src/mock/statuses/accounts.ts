/** A user, who publishes statuses. */
export interface Account {
  readonly id: number;
  readonly username: string;
  readonly displayName: string;
}

/** What an operation requires of a token. */
export type Scope = 'read' | 'write';

/** A bearer token, with its user and its scopes. */
export interface Token {
  readonly token: string;
  readonly scopes: readonly Scope[];
  /** Absent where the token speaks for the application alone. */
  readonly account?: Account;
  /** Why the token is not valid any more; absent while it is valid. */
  readonly ended?: 'revoked' | 'expired';
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
  { token: 'alice-revoked', scopes: ['read', 'write'], account: alice, ended: 'revoked' },
  { token: 'alice-expired', scopes: ['read', 'write'], account: alice, ended: 'expired' },
];

/** When the accounts of the mock were made; a constant, so that the same seed gives the same answers. */
const CREATED_AT = '2019-01-20T00:00:00.000Z';

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
    created_at: CREATED_AT,
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
