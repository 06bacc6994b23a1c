import { controlCatalogue, defaultTokens, mockDefaults } from '../../mock/index.ts';

/** What to tell of a mock that has started. */
export interface Introduction {
  readonly url: string;
  readonly seed: number | undefined;
  readonly isVirtual: boolean;
}

/** What somebody needs to work with a mock: what it is, where, with which credentials, and how to steer it. */
export function introduction({ url, seed, isVirtual }: Introduction): string {
  const clock = isVirtual ? 'virtual: it stands still until POST /_mock/clock' : "the machine's";
  const luck =
    seed === undefined ? 'none: ids and secrets are random' : `${seed}: whoever knows it knows the secrets`;
  const tokens = defaultTokens.map(({ token }) => token).join(', ');
  const routes = controlCatalogue.map(
    ([method, path, what]) => `  ${method.padEnd(6)} ${path.padEnd(36)} ${what}`,
  );
  return `This is a MOCK provider, not the real one. It listens on ${url}

Clock: ${clock}. Seed: ${luck}. State: in memory only.

Webhooks API: ${url}/v2/webhooks
  Authorization: ${mockDefaults.apiSecret}
Scheduled statuses API: ${url}/api/v1/scheduled_statuses
  Authorization: Bearer TOKEN, where TOKEN is one of
  ${tokens}

Control, with JSON bodies:
${routes.join('\n')}
`;
}
