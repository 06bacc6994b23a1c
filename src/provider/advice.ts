import type { ProviderErrorCode } from './provider-error.ts';

/** What a user can do about each kind of failure. */
export type Advice = Readonly<Record<string, string>>;

const common: Advice = {
  unreachable: 'Check the base URL and the network, then try again',
  timed_out: 'Try again; the provider may be slow just now',
  unavailable: 'Try again later; the fault is on the side of the provider',
  rate_limit_exceeded: 'Ask less often, or again once the limit is renewed',
  unexpected_answer: 'Check that the base URL is that of the provider’s API, without a redirect',
};

/** The advice for a failure: what the client says of it, else what holds for all. */
export function adviceFor(code: ProviderErrorCode, own: Advice): string {
  return own[code] ?? common[code] ?? 'Correct the request; sent again as it is, it will fail again';
}
