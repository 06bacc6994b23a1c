/** Why a call failed: the provider's own code where it has one. Codes that it adds later come through unchanged. */
export type ProviderErrorCode =
  | 'invalid_body'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'unprocessable'
  | 'rate_limit_exceeded'
  /** The provider has a fault of its own (5xx). */
  | 'unavailable'
  /** No answer: the connection could not be made, or broke. */
  | 'unreachable'
  /** No answer in time. */
  | 'timed_out'
  /** An answer that the API does not give: of another service, a redirect, or after a change of the API. */
  | 'unexpected_answer'
  /** The provider published a status at once instead of scheduling it. */
  | 'published_at_once'
  | (string & {});

/** A failure of a call. */
export interface ProviderFailure {
  readonly code: ProviderErrorCode;
  /** Method and path, such as `GET /v2/webhooks`. */
  readonly operation: string;
  /** The provider's words, or what happened. */
  readonly reason: string;
  /** The HTTP status, if there was an answer. */
  readonly status?: number | undefined;
  /** After how many milliseconds the provider wants to be asked again, if it says so. */
  readonly retryAfterMs?: number | undefined;
}

/** A call to the provider that failed for good. The message says what to do; no credential is ever part of it. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly code: ProviderErrorCode;
  readonly status: number | undefined;
  readonly operation: string;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  /** @param advice what the user can do about it */
  constructor(
    { code, operation, reason, status, retryAfterMs }: ProviderFailure,
    advice: string,
    options?: ErrorOptions,
  ) {
    const what = status === undefined ? code : `${status} ${code}`;
    super(`${operation}: ${what}: ${reason.replace(/[.\s]+$/, '')}. ${advice}`, options);
    this.code = code;
    this.status = status;
    this.operation = operation;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Advice for the user about each kind of failure. */
export type Advice = Readonly<Record<string, string>>;

const common: Advice = {
  unreachable: 'Check the base URL and the network, then try again',
  timed_out: 'Try again; the provider may be slow just now',
  unavailable: 'Try again later; the provider has a problem',
  rate_limit_exceeded: 'Send fewer requests, or wait until the limit is renewed',
  unexpected_answer: 'Check that the base URL is that of the provider’s API, without a redirect',
};

/** The advice for a failure: that of the client if it has one, else the common one. */
export function adviceFor(code: ProviderErrorCode, own: Advice): string {
  return own[code] ?? common[code] ?? 'Correct the request; the same request will fail again';
}

/** The codes of the provider's documented statuses, for answers that do not give one. */
const codes: Readonly<Record<number, string>> = {
  400: 'invalid_body',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
};

/** The code of a status that is not a success. */
export function codeOfStatus(status: number): string {
  return codes[status] ?? (status >= 500 ? 'unavailable' : 'unexpected_answer');
}
