import type { z } from 'zod';
import { AnswerTooLong, jsonOf } from '../base/answer-body.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { CREDENTIAL, isBaseUrl } from '../base/http-url.ts';
import { pause } from '../base/pause.ts';
import { visibleLine } from '../base/visible.ts';
import { type Api, type ApiRequest, codeOfStatus, operationOf } from './api-request.ts';
import type { ClientOptions } from './client-options.ts';
import { adviceFor, ProviderError, type ProviderFailure } from './provider-error.ts';
import { askedToWait, backoff, mayRepeat, type RetryPolicy } from './retry.ts';
import { type Answer, type Outcome, sendOnce } from './send-once.ts';

/** An answer, and whether the provider may have carried out an earlier attempt that got no answer. */
interface Reply extends Answer {
  readonly maybeDoneBefore: boolean;
}

/** Sends requests to one API: with its credential, within a time, and again if that can help and does no harm. */
export class HttpClient {
  readonly #api: Api;
  readonly #options: ClientOptions;
  readonly #policy: RetryPolicy;
  readonly #clock: Clock;

  /** @throws TypeError on a base URL or credential that cannot be used; it shows neither */
  constructor(api: Api, options: ClientOptions) {
    if (!isBaseUrl(api.baseUrl)) {
      throw new TypeError(
        'the base URL of a provider must be an http or https URL without a user name, password or query',
      );
    }
    if (!CREDENTIAL.test(api.credential)) {
      throw new TypeError('a credential of a provider must be printable ASCII without spaces');
    }
    const { maxAttempts = 4, baseMs = 500, capMs = 10_000, maxWaitMs = 60_000 } = options;
    this.#api = api;
    this.#options = options;
    this.#policy = { maxAttempts, baseMs, capMs, maxWaitMs };
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Sends a request and returns the API's answer.
   * @throws ProviderError if the API refuses, does not answer, or its answer does not match `schema`; the reason of the
   * request's signal, once that is aborted
   */
  async json<T>(request: ApiRequest, schema: z.ZodType<T>): Promise<{ value: T; headers: Headers }> {
    const reply = await this.#send(request);
    this.#expectSuccess(reply, request);
    const { status, headers, text } = reply;
    if (text === undefined) {
      const failure = {
        code: 'unexpected_answer',
        operation: operationOf(request),
        reason: TOO_LONG,
        status,
      };
      throw this.error(failure, undefined, request.adviceIfDone);
    }
    const parsed = schema.safeParse(jsonOf(text));
    if (parsed.success) return { value: parsed.data, headers };
    const [issue] = parsed.error.issues;
    const reason = `the answer does not match the API's schema (${issue?.path.join('.') || 'body'}: ${issue?.message})`;
    const failure = { code: 'unexpected_answer', operation: operationOf(request), reason, status };
    throw this.error(failure, parsed.error, request.adviceIfDone);
  }

  /**
   * Removes a resource. If an earlier attempt may have removed it, a 404 is a success.
   * @throws as `json`
   */
  async remove(request: ApiRequest): Promise<void> {
    const reply = await this.#send(request);
    if (reply.status === 404 && reply.maybeDoneBefore) return;
    this.#expectSuccess(reply, request);
  }

  /** A failure as an error that may be shown: it never contains the credential, even if the provider repeats it. */
  error(failure: ProviderFailure, cause?: unknown, ownAdvice?: string): ProviderError {
    const clean = (text: string) =>
      visibleLine(text.replaceAll(this.#api.credential, '[credential]').slice(0, 1000));
    const shown = { ...failure, code: clean(failure.code), reason: clean(failure.reason) };
    const advice = ownAdvice ?? adviceFor(failure.code, this.#api.advice);
    return new ProviderError(shown, advice, cause === undefined ? {} : { cause });
  }

  async #send(request: ApiRequest): Promise<Reply> {
    const operation = operationOf(request);
    let maybeDoneBefore = false;
    for (let attempts = 1; ; attempts++) {
      const outcome = await this.#attempt(request);
      const waitMs = this.#waitBeforeRetry(outcome, request, attempts);
      if (waitMs === undefined) {
        if (outcome.kind === 'answer') return { ...outcome, maybeDoneBefore };
        const { code, reason, cause } = outcome;
        throw this.error({ code, operation, reason }, cause, adviceIfDone(outcome, request));
      }
      maybeDoneBefore ||= !mayRepeat(outcome, false);
      const reason = outcome.kind === 'answer' ? String(outcome.status) : outcome.reason;
      this.#options.onRetry?.({ operation, attempt: attempts, waitMs, reason });
      await pause(this.#clock, waitMs, request.signal);
    }
  }

  #attempt({ method, path, query = {}, body, headers, signal }: ApiRequest): Promise<Outcome> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) search.set(name, String(value));
    const { baseUrl, authorization } = this.#api;
    return sendOnce({
      url: `${baseUrl.replace(/\/+$/, '')}${path}${search.size === 0 ? '' : `?${search}`}`,
      init: {
        method,
        headers: {
          Accept: 'application/json',
          Authorization: authorization,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
      fetch: this.#options.fetch ?? fetch,
      onTimeout: (fn) => this.#clock.after(this.#options.timeoutMs ?? 10_000, fn),
      signal,
    });
  }

  /** Undefined if there is no further attempt. */
  #waitBeforeRetry(outcome: Outcome, { isRepeatable }: ApiRequest, attempts: number): number | undefined {
    if (attempts >= this.#policy.maxAttempts || !mayRepeat(outcome, isRepeatable)) return undefined;
    const isLimited = outcome.kind === 'answer' && outcome.status === 429;
    const asked = askedToWait(outcome, this.#clock.now()) ?? (isLimited ? this.#api.limitRenewalMs : 0);
    if (asked > this.#policy.maxWaitMs) return undefined;
    return Math.max(asked, backoff(this.#policy, attempts - 1, this.#options.random ?? Math.random));
  }

  #expectSuccess(reply: Reply, request: ApiRequest): void {
    const { status, text } = reply;
    if (status >= 200 && status < 300) return;
    const noReason = text === undefined ? TOO_LONG : 'it gave no reason';
    const refusal = this.#api.readRefusal(jsonOf(text ?? ''));
    const { reason = noReason } = refusal;
    // A list is always there, however short: another service answers. What is created may name something that is missing.
    const isList = request.method === 'GET' && this.#api.collections.includes(request.path);
    const isElsewhere = status === 404 && isList;
    const code = isElsewhere ? 'unexpected_answer' : (refusal.code ?? codeOfStatus(status));
    const retryAfterMs = askedToWait(reply, this.#clock.now());
    const failure = { code, operation: operationOf(request), reason, status, retryAfterMs };
    throw this.error(failure, undefined, adviceIfDone(reply, request));
  }
}

const TOO_LONG = new AnswerTooLong().message;

function adviceIfDone(outcome: Outcome, request: ApiRequest): string | undefined {
  const isCertain = outcome.kind === 'answer' ? outcome.status < 500 : outcome.unseen;
  return isCertain ? undefined : request.adviceIfDone;
}
