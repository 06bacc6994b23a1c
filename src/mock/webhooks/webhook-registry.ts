import type { Clock } from '../../base/clock.ts';
import { SEEDED_MARK } from '../../base/seeded-random.ts';
import { MockError } from '../mock-error.ts';
import type { Random } from '../random.ts';
import { microseconds } from '../timestamp.ts';
import type { Metadata, MetadataChange } from './metadata.ts';
import type { CreatedWebhook, Webhook } from './webhook.ts';

/** Characters in a secret: some verifiers refuse HS256 keys of fewer than 32 bytes. */
const SECRET_LENGTH = 48;

/** The account's webhooks, in order of creation. */
export class WebhookRegistry {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #webhooks = new Map<string, CreatedWebhook>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  create(metadata: Metadata): CreatedWebhook {
    const now = microseconds(this.#clock.now());
    const webhook: CreatedWebhook = {
      id: this.#random.id(8),
      type: 'webhook',
      created: now,
      last_modified: now,
      metadata,
      schema: null,
      relationships: {},
      secret: this.#secret(),
    };
    this.#webhooks.set(webhook.id, webhook);
    return webhook;
  }

  /** What follows from a seed shows it, so that no receiver takes it for a secret. */
  #secret(): string {
    if (!this.#random.isSeeded) return this.#random.id(SECRET_LENGTH);
    return SEEDED_MARK + this.#random.id(SECRET_LENGTH - SEEDED_MARK.length);
  }

  list(): Webhook[] {
    return [...this.#webhooks.values()].map(withoutSecret);
  }

  /** @throws MockError 404 */
  get(id: string): Webhook {
    return withoutSecret(this.withSecret(id));
  }

  /** @throws MockError 404 */
  update(id: string, change: MetadataChange): Webhook {
    const webhook = this.withSecret(id);
    const { metadata } = webhook;
    const updated = {
      ...webhook,
      last_modified: microseconds(this.#clock.now()),
      metadata: {
        name: change.name ?? metadata.name,
        description: change.description ?? metadata.description,
        webhook_url: change.webhook_url ?? metadata.webhook_url,
        events: change.events ?? metadata.events,
        site_ids: change.site_ids ?? metadata.site_ids,
      },
    };
    this.#webhooks.set(id, updated);
    return withoutSecret(updated);
  }

  /** @throws MockError 404 */
  delete(id: string): void {
    if (!this.#webhooks.delete(id)) throw unknown(id);
  }

  clear(): void {
    this.#webhooks.clear();
  }

  /** With the secret that the API never shows again. @throws MockError 404 */
  withSecret(id: string): CreatedWebhook {
    const webhook = this.#webhooks.get(id);
    if (!webhook) throw unknown(id);
    return webhook;
  }

  /** Where a webhook's notifications go now; where they went last if it has been deleted. */
  urlOf({ id, metadata }: CreatedWebhook): string {
    return (this.#webhooks.get(id)?.metadata ?? metadata).webhook_url;
  }

  /** The webhooks that want to know. */
  *matching(wants: (metadata: Metadata) => boolean): Generator<CreatedWebhook> {
    for (const webhook of this.#webhooks.values()) if (wants(webhook.metadata)) yield webhook;
  }
}

function withoutSecret({ secret: _, ...webhook }: CreatedWebhook): Webhook {
  return webhook;
}

function unknown(id: string): MockError {
  return new MockError(404, `there is no webhook ${id}`);
}
