import { z } from 'zod';
import { AnswerTooLong, bodyTextOf, jsonOf } from '../base/answer-body.ts';
import { type Clock, pause, systemClock, timeLimit } from '../base/clock.ts';
import { whyUnreachable } from '../base/errors.ts';
import { visibleLine } from '../base/text.ts';
import { CREDENTIAL, isBaseUrl } from '../base/url.ts';
import {
  type Advice,
  adviceFor,
  codeOfStatus,
  ProviderError,
  type ProviderFailure,
} from './provider-error.ts';

/** The options of both clients. Everything has a default. */
export interface ClientOptions {
  readonly fetch?: typeof fetch;
  /** For waits; the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1), for the jitter of backoffs; Math.random. */
  readonly random?: () => number;
  /** How long an attempt may take, in milliseconds: 10000. */
  readonly timeoutMs?: number;
  /** Attempts in all: 4. */
  readonly maxAttempts?: number;
  /** Longest wait that the provider may ask for, in milliseconds: 60000; asked for more, the call fails at once. */
  readonly maxWaitMs?: number;
  /** Told before each wait for another attempt, for logs and progress. */
  readonly onRetry?: (retry: Retry) => void;
}

/** A failed attempt that another one follows. */
export interface Retry {
  /** Method and path, such as `GET /v2/webhooks`. */
  readonly operation: string;
  /** How many attempts there were. */
  readonly attempt: number;
  readonly waitMs: number;
  /** The status of the answer, or why there was none. */
  readonly reason: string;
}

/** The options of each call. */
export interface CallOptions {
  /** Aborts the call, also while it waits; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How a client addresses its API. */
export interface Api {
  readonly baseUrl: string;
  /** The secret of the API: it must never be shown. */
  readonly credential: string;
  /** The value of the Authorization header. */
  readonly authorization: string;
  readonly advice: Advice;
}

/** A request to an API. */
export interface ApiRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Of the resource below the path. */
  readonly id?: string;
  /** Of a list, and only of a list. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as a form if it is one, else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a request that must not be carried out twice: what a user does after a failure, as the provider may have carried it out. */
  readonly adviceIfDone?: string;
}

/** An answer that says that the request was carried out, read to its end. */
interface Answer {
  readonly status: number;
  readonly text: string;
}

const BASE_MS = 500;
const CAP_MS = 10_000;
/** The provider counts requests by the minute; the webhooks API does not say when the next one begins. */
const LIMIT_RENEWAL_MS = 20_000;

/** Sends requests to one API: with its credential, within a time, and again if that can help and does no harm. */
export class HttpClient {
  readonly #api: Api;
  readonly #options: ClientOptions;

  /** @throws TypeError on a base URL or credential that cannot be used; it shows neither */
  constructor(api: Api, options: ClientOptions) {
    if (!isBaseUrl(api.baseUrl))
      throw new TypeError('the base URL of a provider must be an http(s) URL without credentials and query');
    if (!CREDENTIAL.test(api.credential))
      throw new TypeError('a credential of a provider must be printable ASCII without spaces');
    this.#api = api;
    this.#options = options;
  }

  /**
   * Sends a request and returns what the API answers.
   * @throws as `send`; ProviderError too if the answer does not match `schema`
   */
  async json<T>(request: ApiRequest, schema: z.ZodType<T>): Promise<T> {
    const { status, text } = await this.send(request);
    const parsed = schema.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const reason = `the answer does not match the API's schema (${issue?.path.join('.') || 'body'}: ${issue?.message})`;
    throw this.failure(request, { code: 'unexpected_answer', status, reason, cause: parsed.error });
  }

  /**
   * Sends a request until the API has carried it out. A removal has succeeded, too, if an earlier attempt got no answer and
   * the resource is not found any more.
   * @throws ProviderError if the API refuses or does not answer; the reason of the request's signal, once that is aborted
   */
  async send(request: ApiRequest): Promise<Answer> {
    const { maxAttempts = 4, maxWaitMs = 60_000, onRetry } = this.#options;
    const { clock = systemClock, random = Math.random } = this.#options;
    let mayBeDone = false;
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempt(request);
      if (!(result instanceof ProviderError)) return result;
      const { status, operation, reason, retryAfterMs } = result;
      if (status === 404 && request.method === 'DELETE' && mayBeDone) return { status, text: '' };
      const isPassing = status === undefined || status === 429 || (status >= 500 && status !== 501);
      const isHarmless = request.adviceIfDone === undefined || !isMaybeDone(result);
      const asked = retryAfterMs ?? (status === 429 ? LIMIT_RENEWAL_MS : 0);
      if (!isPassing || !isHarmless || attempt >= maxAttempts || asked > maxWaitMs) throw result;
      mayBeDone ||= isMaybeDone(result);
      const waitMs = Math.max(asked, random() * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1)));
      onRetry?.({ operation, attempt, waitMs, reason: String(status ?? reason) });
      await pause(clock, waitMs, request.signal);
    }
  }

  /** A failure as an error that may be shown: it never contains the credential, even if the provider repeats it. */
  failure(request: ApiRequest, { code, reason, cause, ...more }: Failure): ProviderError {
    const clean = (text: string) =>
      visibleLine(text.replaceAll(this.#api.credential, '[credential]').slice(0, 1000));
    const advice = isMaybeDone({ ...more, cause }) ? request.adviceIfDone : undefined;
    return new ProviderError(
      { ...more, code: clean(code), operation: operationOf(request), reason: clean(reason) },
      advice ?? adviceFor(code, this.#api.advice),
      cause === undefined ? {} : { cause },
    );
  }

  async #attempt(request: ApiRequest): Promise<Answer | ProviderError> {
    const { method, body, signal } = request;
    const { clock = systemClock, timeoutMs = 10_000 } = this.#options;
    signal?.throwIfAborted();
    const url = this.#urlOf(request);
    const [type, content] =
      body instanceof URLSearchParams
        ? ['application/x-www-form-urlencoded', String(body)]
        : ['application/json', JSON.stringify(body)];
    // Not within the try, so that a header that cannot be sent is not taken for a connection that was lost.
    const headers = new Headers({
      Accept: 'application/json',
      Authorization: this.#api.authorization,
      ...(body !== undefined && { 'Content-Type': type }),
      ...request.headers,
    });
    const limit = timeLimit(timeoutMs);
    let response: Response | undefined;
    let text: string;
    try {
      response = await (this.#options.fetch ?? fetch)(url, {
        method,
        headers,
        body: content ?? null,
        redirect: 'manual',
        signal: AbortSignal.any(signal ? [limit, signal] : [limit]),
      });
      text = await bodyTextOf(response);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof AnswerTooLong) {
        const { message: reason } = cause;
        return this.failure(request, { code: 'unexpected_answer', reason, status: response?.status });
      }
      const failure = limit.aborted
        ? { code: 'timed_out', reason: 'no answer in time' }
        : { code: 'unreachable', reason: `the connection failed (${whyUnreachable(cause)})` };
      return this.failure(request, { ...failure, cause });
    }
    const { status } = response;
    if (response.ok) return { status, text };
    const { code = codeOfStatus(status), reason = 'it gave no reason' } = refusalIn(jsonOf(text));
    // A list is always there, however short: another service answers.
    const isElsewhere = status === 404 && request.query !== undefined;
    const retryAfterMs = askedToWait(response, clock.now());
    const shown = isElsewhere ? 'unexpected_answer' : code;
    return this.failure(request, { code: shown, reason, status, retryAfterMs });
  }

  /** @throws ProviderError not_found on an id that none can be: `..` or the empty string would address another resource */
  #urlOf(request: ApiRequest): string {
    if (!/^[\w-]{1,200}$/.test(request.id ?? 'none'))
      throw this.failure(request, { code: 'not_found', reason: 'ids consist of letters, digits, - and _' });
    const url = new URL(`${this.#api.baseUrl.replace(/\/+$/, '')}${pathOf(request)}`);
    for (const [name, value] of Object.entries(request.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url.href;
  }
}

type Failure = Omit<ProviderFailure, 'operation'> & { readonly cause?: unknown };

const pathOf = ({ path, id }: ApiRequest) => (id === undefined ? path : `${path}/${id}`);

const operationOf = (request: ApiRequest) => `${request.method} ${pathOf(request)}`;

/** With these, no connection came about, so that nothing can have been sent. */
const UNCONNECTED = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether the provider may have carried out a request that failed. @param cause of fetch, with the system's error as its cause */
function isMaybeDone({ status, cause }: { readonly status?: number | undefined; readonly cause?: unknown }) {
  if (status !== undefined) return status < 300 || status >= 500;
  return !UNCONNECTED.has(Object(Object(cause).cause).code);
}

const refusal = z.object({
  error: z.string().optional(),
  errors: z.array(z.object({ code: z.string().optional(), description: z.string().optional() })).optional(),
});

/** The provider's code and words: `{"error": "..."}` of the statuses API, `{"errors": [{"code", "description"}]}` of the other. */
function refusalIn(body: unknown) {
  const { error, errors } = refusal.safeParse(body).data ?? {};
  return { code: errors?.[0]?.code, reason: error ?? errors?.[0]?.description };
}

/**
 * How long the provider asks to wait, in milliseconds: `Retry-After` or, once the limit is exceeded, `X-RateLimit-Reset`.
 * Times count from the answer's own date, so that a clock that is off does no harm.
 * @param now milliseconds since the epoch, for an answer without a date
 */
function askedToWait({ status, headers }: Response, now: number): number | undefined {
  const sent = Date.parse(headers.get('date') ?? '') || now;
  const asked = retryAfterOf(headers.get('retry-after'), sent);
  if (asked !== undefined || status !== 429) return asked;
  const reset = Date.parse(headers.get('x-ratelimit-reset') ?? '');
  return Number.isNaN(reset) ? undefined : Math.max(0, reset - sent);
}

/** All three forms of a date (RFC 9110, 5.6.7) begin with the day. Date.parse makes a date of `1.5` and of `-1`, too. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * How long a `Retry-After` asks to wait, in milliseconds: seconds or a date (RFC 9110, 10.2.3).
 * @param from what a date counts from, milliseconds since the epoch
 * @returns undefined without the header, and if it is neither
 */
export function retryAfterOf(header: string | null, from: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, until - from);
}
