import type { Kind } from '../notification/kinds.ts';
import { ProviderError } from './provider-error.ts';
import type { NewWebhook, Webhook, WebhookMetadata } from './webhook-schemas.ts';
import type { WebhooksClient } from './webhooks-client.ts';

/** The webhook with this id; undefined if the provider has none. @throws ProviderError */
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

/** All webhooks of the account, read to the end before the caller changes any. @throws ProviderError */
export async function allWebhooks(client: WebhooksClient, signal?: AbortSignal): Promise<Webhook[]> {
  const webhooks: Webhook[] = [];
  for await (const webhook of client.list({}, { signal })) webhooks.push(webhook);
  return webhooks;
}

/**
 * The metadata of a webhook as an update sends it: with every member, as all known clients do, in case the provider resets
 * members that are not sent. Kinds that this version does not know are kept.
 */
export function sentBack(metadata: WebhookMetadata): NewWebhook {
  const { name, description, webhook_url, events, site_ids } = metadata;
  return { name, description, webhook_url, events: events as readonly Kind[], site_ids };
}
