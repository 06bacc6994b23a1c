import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Clock, systemClock } from '../base/clock.ts';
import { type ApiRequest, type CallOptions, type ClientOptions, HttpClient } from './http-client.ts';
import type { Advice } from './provider-error.ts';

/** Who sees a status. */
export type Visibility = 'public' | 'unlisted' | 'private' | 'direct';

/** A status to schedule or publish. */
export interface NewStatus {
  /** The text; may be empty if there are media. */
  readonly status: string;
  /** Ids of up to 4 uploaded files. */
  readonly media_ids?: readonly string[];
  readonly poll?: NewPoll;
  readonly in_reply_to_id?: string;
  readonly sensitive?: boolean;
  /** A content warning. */
  readonly spoiler_text?: string;
  readonly visibility?: Visibility;
}

/** A poll: 2 to 4 options of up to 50 characters, open from 5 minutes to a month. */
export interface NewPoll {
  readonly options: readonly string[];
  /** Seconds. */
  readonly expires_in: number;
  readonly multiple?: boolean;
  readonly hide_totals?: boolean;
}

/** A member that an answer leaves out counts as null. */
const orNull = <T extends z.ZodType>(type: T) => type.nullish().transform((value) => value ?? null);
const textOrNumber = z.union([z.string(), z.number()]);

const params = z.object({
  /** empty where files alone are scheduled: some servers give null then */
  text: z
    .string()
    .nullish()
    .transform((text) => text ?? ''),
  poll: orNull(z.record(z.string(), z.unknown())),
  media_ids: orNull(z.array(textOrNumber)),
  sensitive: orNull(z.union([z.boolean(), textOrNumber])),
  visibility: orNull(z.string()),
  idempotency: orNull(z.string()),
  scheduled_at: orNull(z.string()),
  spoiler_text: orNull(z.string()),
  application_id: orNull(z.number()),
  in_reply_to_id: orNull(textOrNumber),
});

const attachment = z.object({
  id: z.string(),
  type: z.string(),
  url: orNull(z.string()),
  description: orNull(z.string()),
});

const scheduledStatus = z.object({
  id: z.string().min(1),
  /** ISO 8601; null if the provider once took a date that it could not read: such a status is never published. */
  scheduled_at: z.string().nullable(),
  params,
  media_attachments: z.array(attachment),
});

const publishedStatus = z.object({
  id: z.string().min(1),
  created_at: z.string(),
  /** HTML. */
  content: z.string(),
  visibility: z.string(),
  url: orNull(z.string()),
});

/** The parameters of a scheduled status, with the types that they were sent with: those of our calls are texts. */
export type StatusParams = z.infer<typeof params>;

/** A file of a status. */
export type MediaAttachment = z.infer<typeof attachment>;

/** A scheduled status. */
export type ScheduledStatus = z.infer<typeof scheduledStatus>;

/** A published status. */
export type PublishedStatus = z.infer<typeof publishedStatus>;

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

/** A page of scheduled statuses, newest id first, and the cursors to the pages beside it, which may be empty. */
export interface StatusPage {
  readonly statuses: readonly ScheduledStatus[];
  /** `max_id` of the older page. */
  readonly next?: string;
  /** `min_id` of the newer page. */
  readonly prev?: string;
}

/** The options of a call that makes a status. */
export interface CreationOptions extends CallOptions {
  /** Makes a repeat within the hour harmless: the event's id, say. One for this call alone if not given. See `schedule`, too. */
  readonly idempotencyKey?: string;
}

const STATUSES = '/api/v1/statuses';
const SCHEDULED = '/api/v1/scheduled_statuses';
const LONGEST_PAGE = 40;
const LEAD_MS = 300_000;

const adviceIfScheduled =
  'The status may be scheduled in spite of this: call again with an idempotencyKey and the same time, and it is looked for first';

const advice: Advice = {
  unauthorized: 'Check the user token: it may be mistyped, revoked or expired',
  forbidden: 'Use a token with the scopes read:statuses and write:statuses',
  not_found: 'It may be published or cancelled already, or belong to another user',
  unprocessable: 'Correct the values that are named; a time must lie at least 5 minutes ahead',
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
  readonly #clock: Clock;

  /** @throws TypeError on a base URL or token that cannot be used */
  constructor({ baseUrl, token, ...options }: StatusesClientOptions) {
    const access = { baseUrl, credential: token, authorization: `Bearer ${token}` };
    this.#http = new HttpClient({ ...access, advice }, options);
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Schedules a status for a time, at least 5 minutes ahead. Servers before Mastodon 4.3 know no `Idempotency-Key` here, so a
   * request that may have been carried out is not sent again. With an `idempotencyKey`, the call first looks for a scheduled
   * status with this text, time and files, and returns that: give a repeat of the call the same time.
   * @throws ProviderError; RangeError on a date that is none, which the provider would take for “at once”
   */
  async schedule(
    status: NewStatus,
    at: Date | string,
    options: CreationOptions = {},
  ): Promise<ScheduledStatus> {
    const scheduled_at = momentOf(at);
    const request = creation({ ...status, scheduled_at }, options);
    if (options.idempotencyKey !== undefined)
      for await (const one of this.list({}, options))
        if (isSame(one, { ...status, scheduled_at })) return one;
    if (Date.parse(scheduled_at) < this.#clock.now() + LEAD_MS) {
      const reason = `${scheduled_at} is not 5 minutes ahead: some providers would publish the status at once, or again`;
      throw this.#http.failure(request, { code: 'unprocessable', reason });
    }
    const asked = { ...request, adviceIfDone: adviceIfScheduled };
    const value = await this.#http.json(asked, z.union([scheduledStatus, publishedStatus]));
    if ('params' in value) return value;
    // Some releases publish a status that is scheduled less than 5 minutes ahead, instead of refusing it.
    const reason = `the provider has not scheduled but published it, as status ${value.id}`;
    throw this.#http.failure(request, { code: 'published_at_once', reason });
  }

  /** Publishes a status at once. @throws ProviderError */
  async publish(status: NewStatus, options: CreationOptions = {}): Promise<PublishedStatus> {
    return this.#http.json(creation(status, options), publishedStatus);
  }

  /** @throws ProviderError not_found where the user has none of this id, or it is out */
  async get(id: string, { signal }: CallOptions = {}): Promise<ScheduledStatus> {
    return this.#http.json({ signal, method: 'GET', path: SCHEDULED, id }, scheduledStatus);
  }

  /**
   * Moves a scheduled status to another time, at least 5 minutes ahead.
   * @throws ProviderError not_found where the user has none of this id, or it is out; RangeError on a date that is none
   */
  async reschedule(id: string, at: Date | string, { signal }: CallOptions = {}): Promise<ScheduledStatus> {
    const body = new URLSearchParams({ scheduled_at: momentOf(at) });
    return this.#http.json({ signal, method: 'PUT', path: SCHEDULED, id, body }, scheduledStatus);
  }

  /** @throws ProviderError not_found where the user has none of this id, or it is out */
  async cancel(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#http.send({ signal, method: 'DELETE', path: SCHEDULED, id });
  }

  /** One page, newest id first. @throws ProviderError */
  async page(query: StatusQuery = {}, { signal }: CallOptions = {}): Promise<StatusPage> {
    const request = { signal, method: 'GET', path: SCHEDULED, query: { ...query } } as const;
    const statuses = await this.#http.json(request, z.array(scheduledStatus));
    // The Link header has the same ids. It also has addresses, which may be of another host: the token must not go there.
    const [first, last] = [statuses[0], statuses.at(-1)];
    return { statuses, ...(first && last && { next: last.id, prev: first.id }) };
  }

  /**
   * All scheduled statuses, page by page as they are asked for, from the newest id down. Ids are in order of creation, not of time.
   * @throws ProviderError
   */
  async *list(
    bounds: Omit<StatusQuery, 'min_id'> = {},
    options: CallOptions = {},
  ): AsyncGenerator<ScheduledStatus, void> {
    let query: StatusQuery = { limit: LONGEST_PAGE, ...bounds };
    for (;;) {
      const { statuses, next } = await this.page(query, options);
      yield* statuses;
      // A provider that knows no max_id would give the same page for ever.
      if (next === undefined || next === query.max_id) return;
      query = { ...query, max_id: next };
    }
  }
}

function creation(body: object, { signal, idempotencyKey = randomUUID() }: CreationOptions): ApiRequest {
  const headers = { 'Idempotency-Key': idempotencyKey };
  const form = new URLSearchParams(Object.entries(body).flatMap(([name, value]) => fieldsOf(name, value)));
  return { method: 'POST', path: STATUSES, body: form, headers, signal };
}

/** Whether a status is scheduled already: its text, files and time are the same. */
function isSame({ params, scheduled_at }: ScheduledStatus, wanted: NewStatus & { scheduled_at: string }) {
  // Some servers keep whole seconds.
  const [time, ownTime] = [scheduled_at ?? '', wanted.scheduled_at].map((at) =>
    Math.floor(Date.parse(at) / 1000),
  );
  const [files, own] = [params.media_ids, wanted.media_ids].map((ids) => ids?.join() ?? '');
  return time === ownTime && params.text === wanted.status && files === own;
}

/** The fields of a form, named as in Rails: `media_ids[]`, `poll[options][]`. */
function fieldsOf(name: string, value: unknown): [string, string][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one) => fieldsOf(`${name}[]`, one));
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([member, one]) => fieldsOf(`${name}[${member}]`, one));
}

/** A text without an offset is in UTC, as at the provider. */
function momentOf(at: Date | string): string {
  const isBare = typeof at === 'string' && /[T ][\d:.]+$/.test(at);
  const meant = isBare ? `${at}Z` : at;
  if (Number.isNaN(new Date(meant).getTime())) throw new RangeError('the time of a status is not a date');
  // A text goes as it is: the provider refuses a day that is none, such as 30 February, and JavaScript makes another one of it.
  return typeof meant === 'string' ? meant : meant.toISOString();
}
