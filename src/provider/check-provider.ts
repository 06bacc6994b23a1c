import { messageOf } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import type { Config } from '../config.ts';
import { allWebhooks } from './find-webhook.ts';
import { type Webhook, WebhooksClient } from './index.ts';

/** Whether the provider answers and takes the API secret; if so, with the webhooks that it has. */
export async function checkProvider({
  PROVIDER_BASE_URL: baseUrl,
  PROVIDER_API_SECRET: apiSecret,
}: Config): Promise<{ readonly finding: Finding; readonly webhooks: readonly Webhook[] | undefined }> {
  const { ok, fail, skipped } = findingsOf('provider');
  if (apiSecret === undefined) {
    return { finding: skipped('PROVIDER_API_SECRET is not set'), webhooks: undefined };
  }
  try {
    // Once is enough: whoever runs this wants to see the fault, not to have it hidden by patience.
    const client = new WebhooksClient({ baseUrl, apiSecret, maxAttempts: 1 });
    const webhooks = await allWebhooks(client);
    const finding = ok(`${baseUrl} takes the API secret; webhooks registered: ${webhooks.length}`);
    return { finding, webhooks };
  } catch (error) {
    return { finding: fail(`${baseUrl}: ${messageOf(error)}`), webhooks: undefined };
  }
}
