import type { Clock } from '../../base/clock.ts';
import type { Random } from '../random.ts';
import { defaultTokens, type Token } from './accounts.ts';
import { ApiError, check } from './answers.ts';
import { isBlank, type Parameters, text } from './parameters.ts';

/** Why a grant is refused, in the words of the provider's library (Doorkeeper). */
const refusals = {
  invalid_client: 'Client authentication failed due to unknown client, or no client authentication included.',
  invalid_grant: 'The provided authorization grant is invalid, expired, or revoked.',
  unsupported_grant_type: 'The authorization grant type is not supported by the authorization server.',
};

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
      const isAbsolute = redirect_uri.split(/\s+/).every((uri) => URL.canParse(uri));
      check([
        [isBlank(name), "Application name can't be blank"],
        [isBlank(redirect_uri), "Redirect URI can't be blank"],
        [!isBlank(redirect_uri) && !isAbsolute, 'Redirect URI must be an absolute URI.'],
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
      if (secret === undefined || sent.client_secret !== secret) throw refusal('invalid_client');
      const isGranted = grantTypes.get(text(sent.grant_type));
      if (!isGranted) throw refusal('unsupported_grant_type');
      const token = defaultTokens.find((one) => one.ended === undefined && isGranted(sent, one));
      if (!token) throw refusal('invalid_grant');
      const scope = token.scopes.join(' ');
      const created_at = Math.floor(clock.now() / 1000);
      return { access_token: token.token, token_type: 'Bearer', scope, created_at };
    },
  };
}

function refusal(code: keyof typeof refusals): ApiError {
  return new ApiError(code === 'invalid_client' ? 401 : 400, code, { description: refusals[code] });
}
