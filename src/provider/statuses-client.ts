import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ApiRequest } from './api-request.ts';
import { resourcePath } from './api-request.ts';
import type { CallOptions, ClientOptions } from './client-options.ts';
import { HttpClient } from './http-client.ts';
import type { Advice } from './provider-error.ts';
import {
  type NewStatus,
  readStatusesRefusal,
  type ScheduledStatus,
  type Status,
  scheduledStatusesSchema,
  scheduledStatusSchema,
  statusSchema,
} from './status-schemas.ts';

/** How to reach the scheduled statuses API. */
export interface StatusesClientOptions extends ClientOptions {
  /** Without `/api/v1`. */
  readonly baseUrl: string;
  /** A user token with the scopes `read:statuses` and `write:statuses`. */
  readonly token: string;
}

/** Which page of scheduled statuses to show; ids are exclusive bounds. */
export interface StatusQuery {
  readonly max_id?: string;
  readonly since_id?: string;
  /** The page right above this id; overrides `since_id`. */
  readonly min_id?: string;
  /** 20 if not given; the provider gives no more than 40. */
  readonly limit?: number;
}

/** A page of scheduled statuses, newest id first, and the cursors to the pages beside it. */
export interface StatusPage extends Cursors {
  readonly statuses: readonly ScheduledStatus[];
}

/** Which scheduled statuses to list, and from which end. */
export type StatusListing =
  | {
      readonly direction?: 'older';
      readonly max_id?: string;
      readonly since_id?: string;
      readonly limit?: number;
    }
  | {
      readonly direction: 'newer';
      readonly max_id?: string;
      readonly min_id?: string;
      readonly limit?: number;
    };

/** The options of a call that makes a status. */
export interface CreationOptions extends CallOptions {
  /** Makes a repeat within the hour harmless: the event's id, say. One for this call alone if not given. */
  readonly idempotencyKey?: string;
}

const STATUSES = '/api/v1/statuses';
const SCHEDULED = '/api/v1/scheduled_statuses';
const LONGEST_PAGE = 40;

const advice: Advice = {
  unauthorized: 'Check the user token: it may be mistyped, revoked or expired',
  forbidden: 'Use a token with the scopes read:statuses and write:statuses',
  not_found: 'It may be published or cancelled already, or belong to another user',
  unprocessable: 'Correct the values that the provider names; a time must lie more than 5 minutes ahead',
  unexpected_answer:
    'Check that the base URL is that of the provider’s API, without /api/v1, and without a redirect',
  published_at_once: 'Schedule more than 5 minutes ahead; delete the status if it must not be out yet',
};

/**
 * Schedules statuses at the provider, and publishes them.
 * @example
 * const statuses = new StatusesClient({ baseUrl: 'https://social.example', token });
 * await statuses.schedule({ status: 'On air at eight' }, new Date('2026-06-01T19:50:00Z'));
 */
export class StatusesClient {
  readonly #http: HttpClient;

  /** @throws TypeError on a base URL or token that cannot be used */
  constructor({ baseUrl, token, ...options }: StatusesClientOptions) {
    const api = {
      baseUrl,
      credential: token,
      authorization: `Bearer ${token}`,
      advice,
      collections: [STATUSES, SCHEDULED],
      limitRenewalMs: 0,
      readRefusal: readStatusesRefusal,
    };
    this.#http = new HttpClient(api, options);
  }

  /**
   * Schedules a status for a time, more than 5 minutes ahead.
   * @throws ProviderError; RangeError on a date that is none, which the provider would take for “at once”
   */
  async schedule(
    status: NewStatus,
    at: Date | string,
    options: CreationOptions = {},
  ): Promise<ScheduledStatus> {
    const request = creation({ ...status, scheduled_at: momentOf(at) }, options);
    const { value } = await this.#http.json(request, z.union([scheduledStatusSchema, statusSchema]));
    if ('params' in value) return value;
    // Some releases publish what is scheduled less than 5 minutes ahead instead of refusing it.
    const reason = `the provider has not scheduled but published it, as status ${value.id}`;
    throw this.#http.error({ code: 'published_at_once', operation: `POST ${STATUSES}`, reason });
  }

  /** Publishes a status at once. @throws ProviderError */
  async publish(status: NewStatus, options: CreationOptions = {}): Promise<Status> {
    return (await this.#http.json(creation(status, options), statusSchema)).value;
  }

  /** @throws ProviderError not_found where the user has none of this id, or it is out */
  async get(id: string, { signal }: CallOptions = {}): Promise<ScheduledStatus> {
    const request = { method: 'GET', path: resourcePath(SCHEDULED, id), signal, isRepeatable: true } as const;
    return (await this.#http.json(request, scheduledStatusSchema)).value;
  }

  /**
   * Moves a scheduled status to another time, more than 5 minutes ahead.
   * @throws ProviderError not_found where the user has none of this id, or it is out; RangeError on a date that is none
   */
  async reschedule(id: string, at: Date | string, { signal }: CallOptions = {}): Promise<ScheduledStatus> {
    const body = { scheduled_at: momentOf(at) };
    const path = resourcePath(SCHEDULED, id);
    const request = { method: 'PUT', path, body, signal, isRepeatable: true } as const;
    return (await this.#http.json(request, scheduledStatusSchema)).value;
  }

  /** @throws ProviderError not_found where the user has none of this id, or it is out */
  async cancel(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.remove({
      method: 'DELETE',
      path: resourcePath(SCHEDULED, id),
      signal,
      isRepeatable: true,
    });
  }

  /** One page, newest id first. @throws ProviderError */
  async page(query: StatusQuery = {}, { signal }: CallOptions = {}): Promise<StatusPage> {
    const request = {
      method: 'GET',
      path: SCHEDULED,
      query: { ...query },
      signal,
      isRepeatable: true,
    } as const;
    const { value: statuses, headers } = await this.#http.json(request, scheduledStatusesSchema);
    const link = headers.get('link');
    const [first, last] = [statuses[0], statuses.at(-1)];
    if (link !== null || !first || !last) return { statuses, ...cursorsOf(link ?? '') };
    // A proxy may have dropped the header; the ids say the same.
    return { statuses, next: last.id, prev: first.id };
  }

  /**
   * All scheduled statuses, page by page as they are asked for: `older` from the newest id down (the default), `newer`
   * from the oldest id up. Ids are in order of creation, not of time.
   * @throws ProviderError
   */
  async *list(
    { direction = 'older', ...bounds }: StatusListing = {},
    options: CallOptions = {},
  ): AsyncGenerator<ScheduledStatus, void, undefined> {
    const isOlder = direction === 'older';
    const seen = new Set<string>();
    let query: StatusQuery = { limit: LONGEST_PAGE, ...(!isOlder && { min_id: '0' }), ...bounds };
    for (;;) {
      const { statuses, next, prev } = await this.page(query, options);
      yield* isOlder ? statuses : statuses.toReversed();
      const cursor = isOlder ? next : prev;
      // This ends the loop if the provider's links lead in a circle.
      if (statuses.length === 0 || cursor === undefined || seen.has(cursor)) return;
      seen.add(cursor);
      // A link carries no bound but its own, so that the caller's stay as they are.
      query = isOlder ? { ...query, max_id: cursor } : { ...query, min_id: cursor };
    }
  }
}

function creation(body: object, { signal, idempotencyKey = randomUUID() }: CreationOptions): ApiRequest {
  const headers = { 'Idempotency-Key': idempotencyKey };
  return { method: 'POST', path: STATUSES, body, headers, signal, isRepeatable: true };
}

function momentOf(at: Date | string): string {
  const moment = new Date(at);
  if (at === '' || Number.isNaN(moment.getTime())) throw new RangeError('the time of a status is not a date');
  return typeof at === 'string' ? at : moment.toISOString();
}

/** The cursors that lead to the pages beside one. */
interface Cursors {
  /** `max_id` of the older page. */
  readonly next?: string;
  /** `min_id` of the newer page. */
  readonly prev?: string;
}

/**
 * Takes the cursors out of a Link header (RFC 8288). Only they are used, never the address: it may name another host, to
 * which the token must not go.
 */
function cursorsOf(link: string): Cursors {
  const next = cursor(link, 'next', 'max_id');
  const prev = cursor(link, 'prev', 'min_id');
  return { ...(next !== undefined && { next }), ...(prev !== undefined && { prev }) };
}

function cursor(link: string, rel: string, name: string): string | undefined {
  for (const [, address = '', parameters = ''] of link.matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!new RegExp(`;\\s*rel="?(?:[^"]*\\s)?${rel}(?:\\s[^"]*)?"?\\s*(?:[;,]|$)`, 'i').test(parameters))
      continue;
    return new URLSearchParams(address.split('?')[1]).get(name) ?? undefined;
  }
  return undefined;
}
