import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { isLoopback } from '../base/request-origin.ts';
import { SEEDED_MARK } from '../base/seeded-random.ts';
import { kindNames } from '../notification/kinds.ts';
import type { Random } from './random.ts';
import { MockError, parse } from './requests.ts';

/** HTTPS, as the service demands, or plain HTTP to this machine or one of these hosts, as a mock is used. */
const isReceiverUrl = (hosts: readonly string[]) => (text: string) => {
  if (!URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) return false; // URL passes over line breaks
  const { protocol, hostname, port } = new URL(text);
  const isNear = isLoopback(hostname.replace(/^\[|\]$/g, ''));
  const isGiven = (host: string) => [hostname, `${hostname}:${port || 80}`].includes(host.toLowerCase());
  return protocol === 'https:' || (protocol === 'http:' && (isNear || hosts.some(isGiven)));
};

/** The body of a webhook. Bounds are not in the specification, so none are set; members it does not know are dropped. */
const bodySchema = (hosts: readonly string[]) => {
  const where = 'must be an https URL, or http to a loopback host or one of hookkit mock --receiver-host';
  const metadata = z.object({
    name: z.string(),
    description: z.nullish(z.string()).transform((text) => text ?? ''),
    webhook_url: z.string().refine(isReceiverUrl(hosts), where),
    events: z.array(z.enum(kindNames)),
    site_ids: z.nullish(z.array(z.string())).transform((ids) => ids ?? []),
  });
  return z.object({ metadata });
};

const changeSchema = z.object({ metadata: z.looseObject({}) });

/** Which kinds and sites a webhook is for, and where it sends their notifications. */
export type Metadata = z.output<ReturnType<typeof bodySchema>>['metadata'];

/** The metadata of a new webhook: `description` and `site_ids` may be left out. */
export type MetadataInput = z.input<ReturnType<typeof bodySchema>>['metadata'];

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

export type Webhooks = ReturnType<typeof createWebhooks>;

interface WebhooksNeeds {
  readonly clock: Clock;
  readonly random: Random;
  /** to which they may send over plain HTTP, besides loopback */
  readonly receiverHosts: readonly string[];
}

/** The account's webhooks. They are created and updated by bodies of the API: `{"metadata": {...}}`. */
export function createWebhooks({ clock, random, receiverHosts }: WebhooksNeeds) {
  const webhooks = new Map<string, CreatedWebhook>();
  const schema = bodySchema(receiverHosts);

  /** With the secret that the API never shows again. @throws MockError 404 */
  const withSecret = (id: string): CreatedWebhook => {
    const webhook = webhooks.get(id);
    if (!webhook) throw new MockError(404, `there is no webhook ${id}`);
    return webhook;
  };
  return {
    withSecret,

    /** Registers a webhook. @returns it with its secret, which is not shown again @throws MockError 400 */
    create(body: unknown): CreatedWebhook {
      const { metadata } = parse(schema, body);
      const now = microseconds(clock.now());
      const mark = random.seed !== undefined ? SEEDED_MARK : ''; // a secret that follows from a seed says so, and receivers refuse it
      const webhook: CreatedWebhook = {
        id: random.id(8),
        type: 'webhook',
        created: now,
        last_modified: now,
        metadata,
        schema: null,
        relationships: {},
        secret: mark + random.id(SECRET_LENGTH - mark.length),
      };
      webhooks.set(webhook.id, webhook);
      return webhook;
    },

    /** In order of creation. */
    list: (): Webhook[] => [...webhooks.values()].map(withoutSecret),

    /** @throws MockError 404 */
    get: (id: string): Webhook => withoutSecret(withSecret(id)),

    /**
     * Changes the members of the metadata that were sent. Clients written in Go send a list that they do not set as null.
     * @throws MockError 404, 400
     */
    update(id: string, body: unknown): Webhook {
      const before = withSecret(id);
      const change = parse(changeSchema, body).metadata;
      const site_ids = change.site_ids ?? before.metadata.site_ids;
      const { metadata } = parse(schema, { metadata: { ...before.metadata, ...change, site_ids } });
      const webhook = { ...before, last_modified: microseconds(clock.now()), metadata };
      webhooks.set(id, webhook);
      return withoutSecret(webhook);
    },

    /** Notifications from before are still delivered. @throws MockError 404 */
    delete(id: string): void {
      webhooks.delete(withSecret(id).id);
    },

    /** Where a webhook's notifications go now; where they went last if it has been deleted. */
    urlOf: ({ id, metadata }: CreatedWebhook): string => (webhooks.get(id)?.metadata ?? metadata).webhook_url,

    /** The webhooks whose metadata match. */
    matching: (wants: (metadata: Metadata) => boolean): CreatedWebhook[] =>
      [...webhooks.values()].filter(({ metadata }) => wants(metadata)),

    reset: () => webhooks.clear(),
  };
}

function withoutSecret({ secret: _, ...webhook }: CreatedWebhook): Webhook {
  return webhook;
}

/** `2024-08-27T00:20:57.123000+00:00`: as in a resource's `created`. */
export function microseconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000+00:00`;
}
