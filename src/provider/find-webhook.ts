import { ProviderError, type Webhook, type WebhooksClient } from './index.ts';

/** A webhook of the provider; undefined where there is none of this id. @throws ProviderError */
export async function findWebhook(
  client: WebhooksClient,
  id: string,
  signal?: AbortSignal,
): Promise<Webhook | undefined> {
  try {
    return await client.get(id, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether the provider says that there is no such webhook. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ProviderError && error.code === 'not_found';
}

/** All webhooks of the account, collected before anything is changed. @throws ProviderError */
export async function allWebhooks(client: WebhooksClient, signal?: AbortSignal): Promise<Webhook[]> {
  const webhooks: Webhook[] = [];
  for await (const webhook of client.list({}, { signal })) webhooks.push(webhook);
  return webhooks;
}
