import type { Clock } from '../base/clock.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { ifThere, type NewWebhook, type Webhook, type WebhooksClient } from '../provider/index.ts';
import type { EventStore } from '../store/event-store.ts';

/** Where webhooks are registered, and where their secrets are stored. */
interface Both {
  readonly client: WebhooksClient;
  readonly store: EventStore;
}

/**
 * Registers a webhook and stores its secret. If that fails, it deletes the webhook: nothing could ever verify its notifications.
 * @param check throws if the secret must not be stored
 * @throws KitError SECRET_NOT_STORED
 * @throws ProviderError
 */
export async function createWebhook(
  webhook: NewWebhook,
  { client, store, check }: Both & { readonly check: (secret: string) => void },
): Promise<Webhook> {
  const { secret, ...created } = await client.create(webhook);
  const { id } = created;
  try {
    check(secret);
    await store.secrets.add(id, secret);
  } catch (cause) {
    const problem = `the secret of the new webhook ${id} could not be stored (${messageOf(cause)})`;
    const end = await client.delete(id).then(
      () => 'so it was deleted again: remove the cause, then try again',
      ({ message }) =>
        `and it could not be deleted again (${message}): run npx hookkit webhooks delete ${id}`,
    );
    throw new KitError('SECRET_NOT_STORED', `${problem}, ${end}`, { cause });
  }
  return created;
}

/** The end of a webhook and its secrets. */
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
  { client, store, clock, graceMs }: Both & { readonly clock: Clock; readonly graceMs: number },
): Promise<Deleted> {
  const isDeleted = (await ifThere(client.delete(id).then(() => true))) === true;
  const ends = await retireSecrets(store, { id, at: clock.now() + graceMs });
  if (!isDeleted && ends.length === 0) throw unknownWebhook(id);
  return { isDeleted, secretUntil: ends.at(-1) };
}

/** Which secrets to retire, and when. */
interface Retirement {
  /** of the webhook */
  readonly id: string;
  /** milliseconds since the epoch; a secret that retires already keeps the earlier time */
  readonly at: number;
  /** a secret that stays */
  readonly kept?: string;
}

/** Retires the secrets of a webhook. @returns when each of them verifies nothing any more, the last at the end */
export async function retireSecrets(store: EventStore, { id, at, kept }: Retirement): Promise<number[]> {
  const own = (await store.secrets.live()).filter(
    ({ webhookId, secret }) => webhookId === id && secret !== kept,
  );
  for (const { secret, retireAt } of own)
    if (retireAt === undefined || at < retireAt) await store.secrets.retire(id, secret, at);
  return own.map(({ retireAt = at }) => Math.min(at, retireAt)).toSorted((one, other) => one - other);
}

/** The error where the provider has no such webhook, and no secret of it is stored here. */
export function unknownWebhook(id: string): KitError {
  const message = `the provider has no webhook ${id}: npx hookkit webhooks list shows all`;
  return new KitError('WEBHOOK_UNKNOWN', message);
}
