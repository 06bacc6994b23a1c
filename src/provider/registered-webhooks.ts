import type { Kind } from '../notification/kinds.ts';
import { ProviderError } from './provider-error.ts';
import type { NewWebhook, Webhook, WebhookMetadata } from './webhook-schemas.ts';
import type { WebhooksClient } from './webhooks-client.ts';

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

/**
 * A webhook's metadata, to be sent back whole: all known clients send every member in an update, so that nothing rests on
 * the provider leaving alone what was not sent. Kinds that this version does not know are kept.
 */
export function sentBack(metadata: WebhookMetadata): NewWebhook {
  const { name, description, webhook_url, events, site_ids } = metadata;
  return { name, description, webhook_url, events: events as readonly Kind[], site_ids };
}
