import { z } from 'zod';
import type { Kind } from '../notification/kinds.ts';
import { type CallOptions, type ClientOptions, HttpClient } from './http-client.ts';
import { type Advice, ProviderError } from './provider-error.ts';

const metadata = z.object({
  name: z.string(),
  description: z.nullish(z.string()).transform((text) => text ?? ''),
  webhook_url: z.string(),
  /** Kinds of notification; perhaps also some that this version does not know. */
  events: z.array(z.string()),
  site_ids: z.array(z.string()),
});

const webhook = z.object({
  id: z.string().min(1),
  type: z.string(),
  /** ISO 8601 with fractional seconds and a UTC offset. */
  created: z.string(),
  last_modified: z.string(),
  metadata,
  schema: z.unknown(),
});

const createdWebhook = webhook.extend({ secret: z.string().min(1) });

const webhookPage = z.object({
  page_length: z.number(),
  /** How many there are on all pages. */
  total: z.number(),
  webhooks: z.array(webhook),
});

/** Which kinds and sites a webhook is for, and where it sends their notifications. */
export type WebhookMetadata = z.infer<typeof metadata>;

/** A webhook as the provider shows it. */
export type Webhook = z.infer<typeof webhook>;

/** A webhook as its creation shows it: the only time that the provider gives the secret away. */
export type CreatedWebhook = z.infer<typeof createdWebhook>;

/** The metadata of a new webhook. */
export interface NewWebhook {
  readonly name: string;
  readonly description?: string;
  /** HTTPS. */
  readonly webhook_url: string;
  readonly events: readonly Kind[];
  readonly site_ids: readonly string[];
}

/** How to reach the webhooks API. */
export interface WebhooksClientOptions extends ClientOptions {
  /** Without `/v2`. */
  readonly baseUrl: string;
  /** A v2 API credential. */
  readonly apiSecret: string;
}

/** Which webhooks to list. */
export interface WebhookQuery {
  /** Searches their texts. */
  readonly q?: string;
  /** Such as `created:asc`; the provider spells the other direction `dsc`. */
  readonly sort?: `${string}:${'asc' | 'dsc'}`;
  /** Up to 100. */
  readonly page_length?: number;
}

const PATH = '/v2/webhooks';
const LONGEST_PAGE = 100;

const advice: Advice = {
  unauthorized: 'Check the API secret: it must be that of a v2 API credential',
  forbidden: 'Use an API credential whose permission level lets it manage webhooks',
  not_found: 'Check the id against the list of webhooks; a webhook may have been deleted meanwhile',
  unexpected_answer:
    'Check that the base URL is that of the provider’s API, without /v2, and without a redirect',
  invalid_body: 'Check the name, the URL (HTTPS), the events and the site ids',
  conflict: 'The webhooks may have changed meanwhile: look at their list, then try again',
  unprocessable: 'Check the id and the values that were sent; the same request will fail again',
};

/**
 * Manages the account's webhooks at the provider.
 * @example
 * const webhooks = new WebhooksClient({ baseUrl: 'https://api.jwplayer.com', apiSecret });
 * for await (const { id, metadata } of webhooks.list()) console.log(id, metadata.webhook_url);
 */
export class WebhooksClient {
  readonly #http: HttpClient;

  /** @throws TypeError on a base URL or secret that cannot be used */
  constructor({ baseUrl, apiSecret, ...options }: WebhooksClientOptions) {
    const access = { baseUrl, credential: apiSecret, authorization: apiSecret };
    this.#http = new HttpClient({ ...access, advice }, options);
  }

  /**
   * Registers a webhook. Not tried again once the provider may have carried it out, for that could make a second one:
   * then the error says to look at the list first.
   * @returns it with its secret, which is never shown again
   * @throws ProviderError
   */
  async create(metadata: NewWebhook, { signal }: CallOptions = {}): Promise<CreatedWebhook> {
    const adviceIfDone =
      'The webhook may be registered in spite of this: look at the list before you register it again';
    const request = { method: 'POST', path: PATH, body: { metadata }, signal, adviceIfDone } as const;
    return this.#http.json(request, createdWebhook);
  }

  /** @throws ProviderError not_found if there is none */
  async get(id: string, { signal }: CallOptions = {}): Promise<Webhook> {
    return this.#http.json({ signal, method: 'GET', path: PATH, id }, webhook);
  }

  /** Changes the given members and leaves the others. @throws ProviderError not_found if there is none */
  async update(id: string, change: Partial<NewWebhook>, { signal }: CallOptions = {}): Promise<Webhook> {
    const body = { metadata: change };
    return this.#http.json({ signal, method: 'PATCH', path: PATH, id, body }, webhook);
  }

  /** @throws ProviderError not_found if there is none */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.send({ signal, method: 'DELETE', path: PATH, id });
  }

  /**
   * All webhooks, one page at a time, by default in order of creation, so that new ones come last. A webhook that is
   * deleted meanwhile moves others to an earlier page, where they are missed: collect all before you delete.
   * @throws ProviderError
   */
  async *list(given: WebhookQuery = {}, { signal }: CallOptions = {}): AsyncGenerator<Webhook, void> {
    for (let page = 1; ; page++) {
      const query = { page, sort: 'created:asc', page_length: LONGEST_PAGE, ...given };
      const request = { signal, method: 'GET', path: PATH, query } as const;
      const { webhooks, page_length, total } = await this.#http.json(request, webhookPage);
      yield* webhooks;
      if (webhooks.length === 0 || page * page_length >= total) return;
    }
  }
}

/** The result of a call about one webhook; undefined if the provider has no such webhook. @throws ProviderError */
export async function ifThere<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/**
 * The metadata of a webhook as an update sends it: with every member, as all known clients do, in case the provider resets
 * members that are not sent. Kinds that this version does not know are kept.
 */
export function sentBack({ name, description, webhook_url, events, site_ids }: WebhookMetadata): NewWebhook {
  return { name, description, webhook_url, events: events as Kind[], site_ids };
}
