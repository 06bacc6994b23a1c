import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { SEEDED_MARK } from '../../base/seeded-random.ts';
import { kindNames } from '../../notification/kinds.ts';
import { MockError } from '../mock-error.ts';
import type { Random } from '../random.ts';

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** HTTPS, as the service demands, or plain HTTP to this machine, as a mock is used. */
function isReceiverUrl(text: string): boolean {
  if (!URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) return false; // URL passes over line breaks
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
}

/** Clients written in Go send a list that they do not set as null. */
const siteIds = z.array(z.string()).nullish();

/** `metadata` of a creation. Bounds are not in the specification, so none are set; members it does not know are dropped. */
export const metadataSchema = z.object({
  name: z.string(),
  description: z
    .string()
    .nullish()
    .transform((text) => text ?? ''),
  webhook_url: z.string().refine(isReceiverUrl, 'must be an https URL, or an http URL on a loopback host'),
  events: z.array(z.enum(kindNames)),
  site_ids: siteIds.transform((ids) => ids ?? []),
});

/** `metadata` of an update: only the members to change. */
export const metadataChangeSchema = z.object({
  name: metadataSchema.shape.name.optional(),
  description: z
    .string()
    .nullish()
    .transform((text) => (text === null ? '' : text)),
  webhook_url: metadataSchema.shape.webhook_url.optional(),
  events: metadataSchema.shape.events.optional(),
  site_ids: siteIds.transform((ids) => ids ?? undefined),
});

/** Which kinds and sites a webhook is for, and where it sends their notifications. */
export type Metadata = z.output<typeof metadataSchema>;

/** The metadata of a new webhook: `description` and `site_ids` may be left out. */
export type MetadataInput = z.input<typeof metadataSchema>;

/** The members of the metadata that an update sends. */
export type MetadataChange = z.output<typeof metadataChangeSchema>;

/** A webhook as the API shows it. */
export interface Webhook {
  readonly id: string;
  readonly type: 'webhook';
  /** ISO 8601 with fractional seconds and an offset: `2024-08-27T00:20:57.123000+00:00` */
  readonly created: string;
  readonly last_modified: string;
  readonly metadata: Metadata;
  readonly schema: null;
  readonly relationships: Readonly<Record<string, never>>;
}

/** A webhook with its secret, which only its creation shows. */
export interface CreatedWebhook extends Webhook {
  readonly secret: string;
}

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

  /** A secret that follows from a seed says so, and receivers refuse it. */
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

  /** The webhooks whose metadata match. */
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

/** `2024-08-27T00:20:57.123000+00:00`: as in a resource's `created`. */
function microseconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000+00:00`;
}
