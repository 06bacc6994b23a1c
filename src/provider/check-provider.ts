import { messageOf } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { allWebhooks } from './registered-webhooks.ts';
import type { Webhook } from './webhook-schemas.ts';
import { WebhooksClient } from './webhooks-client.ts';

interface ProviderAccess {
  readonly baseUrl: string;
  readonly apiSecret: string | undefined;
}

/** Checks whether the provider answers and takes the API secret. If so, the result has the webhooks of the account. */
export async function checkProvider({ baseUrl, apiSecret }: ProviderAccess): Promise<{
  readonly finding: Finding;
  readonly webhooks: readonly Webhook[] | undefined;
}> {
  const { ok, fail, skipped } = findingsOf('provider');
  if (apiSecret === undefined) {
    return { finding: skipped('PROVIDER_API_SECRET is not set'), webhooks: undefined };
  }
  try {
    // One attempt: a check shows a fault, and must not hide it by trying again.
    const client = new WebhooksClient({ baseUrl, apiSecret, maxAttempts: 1 });
    const webhooks = await allWebhooks(client);
    const finding = ok(`${baseUrl} takes the API secret; webhooks registered: ${webhooks.length}`);
    return { finding, webhooks };
  } catch (error) {
    return { finding: fail(`${baseUrl}: ${messageOf(error)}`), webhooks: undefined };
  }
}
