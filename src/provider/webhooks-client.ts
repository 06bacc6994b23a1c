import { resourcePath } from './api-request.ts';
import type { CallOptions, ClientOptions } from './client-options.ts';
import { HttpClient } from './http-client.ts';
import type { Advice } from './provider-error.ts';
import {
  type CreatedWebhook,
  createdWebhookSchema,
  type NewWebhook,
  readWebhooksRefusal,
  type Webhook,
  type WebhookPage,
  webhookPageSchema,
  webhookSchema,
} from './webhook-schemas.ts';

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
const MOST_LISTED = 10_000;
const LONGEST_PAGE = 100;
/** The provider counts requests by the minute and does not say when the next one begins. */
const LIMIT_RENEWAL_MS = 20_000;

const advice: Advice = {
  unauthorized: 'Check the API secret: it must be that of a v2 API credential',
  forbidden: 'Use an API credential whose permission level lets it manage webhooks',
  not_found: 'Check the id against the list of webhooks; a webhook may have been deleted meanwhile',
  unexpected_answer:
    'Check that the base URL is that of the provider’s API, without /v2, and without a redirect',
  invalid_body: 'Check the name, the URL (HTTPS), the events and the site ids',
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
    const api = {
      baseUrl,
      credential: apiSecret,
      authorization: apiSecret,
      advice,
      collections: [PATH],
      limitRenewalMs: LIMIT_RENEWAL_MS,
      readRefusal: readWebhooksRefusal,
    };
    this.#http = new HttpClient(api, options);
  }

  /**
   * Registers a webhook. Not tried again once the provider may have carried it out, for that could make a second one:
   * then the error says to look at the list first.
   * @returns it with its secret, which is never shown again
   * @throws ProviderError
   */
  async create(webhook: NewWebhook, { signal }: CallOptions = {}): Promise<CreatedWebhook> {
    const request = {
      method: 'POST',
      path: PATH,
      body: { metadata: webhook },
      signal,
      isRepeatable: false,
      adviceIfDone:
        'The webhook may be registered in spite of this: look at the list before you register it again',
    } as const;
    return (await this.#http.json(request, createdWebhookSchema)).value;
  }

  /** @throws ProviderError not_found if there is none */
  async get(id: string, { signal }: CallOptions = {}): Promise<Webhook> {
    const request = { method: 'GET', path: resourcePath(PATH, id), signal, isRepeatable: true } as const;
    return (await this.#http.json(request, webhookSchema)).value;
  }

  /** Changes the given members and leaves the others. @throws ProviderError not_found if there is none */
  async update(id: string, change: Partial<NewWebhook>, { signal }: CallOptions = {}): Promise<Webhook> {
    const path = resourcePath(PATH, id);
    const request = {
      method: 'PATCH',
      path,
      body: { metadata: change },
      signal,
      isRepeatable: true,
    } as const;
    return (await this.#http.json(request, webhookSchema)).value;
  }

  /** @throws ProviderError not_found if there is none */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.remove({ method: 'DELETE', path: resourcePath(PATH, id), signal, isRepeatable: true });
  }

  /** One page, counted from 1. @throws ProviderError */
  async page(page: number, query: WebhookQuery = {}, { signal }: CallOptions = {}): Promise<WebhookPage> {
    const request = {
      method: 'GET',
      path: PATH,
      query: { page, ...query },
      signal,
      isRepeatable: true,
    } as const;
    return (await this.#http.json(request, webhookPageSchema)).value;
  }

  /**
   * All webhooks, one page at a time, by default in order of creation, so that new ones come last. A webhook that is
   * deleted meanwhile moves others to an earlier page, where they are missed: collect all before you delete.
   * @throws ProviderError; unexpected_answer after 10,000, as a list that never ends would fill memory
   */
  async *list(query: WebhookQuery = {}, options: CallOptions = {}): AsyncGenerator<Webhook, void, undefined> {
    const full = { sort: 'created:asc', page_length: LONGEST_PAGE, ...query } as const;
    let listed = 0;
    for (let number = 1; ; number++) {
      const { webhooks, page_length, total } = await this.page(number, full, options);
      yield* webhooks;
      if (webhooks.length === 0 || number * page_length >= total) return;
      listed += webhooks.length;
      if (listed >= MOST_LISTED) {
        const reason = `the list goes on after ${MOST_LISTED} webhooks`;
        throw this.#http.error({ code: 'unexpected_answer', operation: `GET ${PATH}`, reason });
      }
    }
  }
}
