import type { Clock } from '../base/clock.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { type CreatedWebhook, isNotFound, type NewWebhook, type WebhooksClient } from '../provider/index.ts';
import type { EventStore } from '../store/event-store.ts';
import { retireSecrets } from './retire-secrets.ts';

/** Where webhooks are registered, and where their secrets are stored. */
interface Both {
  readonly client: WebhooksClient;
  readonly store: EventStore;
}

/**
 * Registers a webhook and stores its secret. If that fails, it deletes the webhook: nothing could ever verify its notifications.
 * @throws KitError SECRET_NOT_STORED
 * @throws ProviderError
 */
export async function createWebhook(
  webhook: NewWebhook,
  { client, store }: Both,
): Promise<Omit<CreatedWebhook, 'secret'>> {
  const { secret, ...created } = await client.create(webhook);
  const { id } = created;
  try {
    await store.addSecret(id, secret);
  } catch (cause) {
    const problem = `the secret of the new webhook ${id} could not be stored (${messageOf(cause)})`;
    await client.delete(id).catch((error) => {
      const next = `and it could not be deleted again (${messageOf(error)}): run npx hookkit webhooks delete ${id}`;
      throw new KitError('SECRET_NOT_STORED', `${problem}, ${next}`, { cause });
    });
    const done = `${problem}, so it was deleted again: remove the cause, then try again`;
    throw new KitError('SECRET_NOT_STORED', done, { cause });
  }
  return created;
}

/** What became of a webhook and its secrets. */
export interface Deleted {
  /** false: it was gone at the provider */
  readonly isDeleted: boolean;
  /** when the last of its secrets retires, milliseconds since the epoch; undefined where none is stored */
  readonly secretUntil: number | undefined;
}

/**
 * Deletes a webhook at the provider, and retires its secrets once the grace time is over. It can be repeated after an error.
 * @throws KitError WEBHOOK_UNKNOWN if neither the provider nor the store has anything of it
 * @throws ProviderError
 */
export async function deleteWebhook(
  id: string,
  { client, ...retirement }: Both & { readonly clock: Clock; readonly graceMs: number },
): Promise<Deleted> {
  const isDeleted = await client.delete(id).then(
    () => true,
    (error) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
  const secretUntil = await retireSecrets(id, retirement);
  if (!isDeleted && secretUntil === undefined) throw unknownWebhook(id);
  return { isDeleted, secretUntil };
}

/** Retires at once all secrets of a webhook but one. @returns how many there were */
export async function retireOthers(
  id: string,
  secret: string,
  { store, clock }: { readonly store: EventStore; readonly clock: Clock },
): Promise<number> {
  const others = (await store.secrets()).filter((one) => one.webhookId === id && one.secret !== secret);
  for (const other of others) await store.retireSecret(id, other.secret, clock.now());
  return others.length;
}

/** That neither the provider nor the store has anything of a webhook. */
export function unknownWebhook(id: string): KitError {
  return new KitError(
    'WEBHOOK_UNKNOWN',
    `the provider has no webhook ${id}, and no secret is stored for it: npx hookkit webhooks list shows all`,
  );
}
