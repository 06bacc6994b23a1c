import type { CallOptions } from './client-options.ts';
import { type Advice, ProviderError } from './provider-error.ts';

/** How a client addresses its API. */
export interface Api {
  readonly baseUrl: string;
  /** The secret of the API: it must never be shown. */
  readonly credential: string;
  /** The value of the Authorization header. */
  readonly authorization: string;
  readonly advice: Advice;
  /** The paths of its lists. A 404 of another path says that a resource is missing. */
  readonly collections: readonly string[];
  /** How long to wait over the limit of requests, if the answer does not say for how long. */
  readonly limitRenewalMs: number;
  /** Finds the provider's code and words in the body of a refusal. */
  readonly readRefusal: (body: unknown) => Refusal;
}

/** The provider's code and words of a refusal. */
export interface Refusal {
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
}

/** A request to an API. */
export interface ApiRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether carrying it out twice is the same as once. */
  readonly isRepeatable: boolean;
  /** What to do if the request failed, but the provider may have carried it out. */
  readonly adviceIfDone?: string;
}

/** How errors name a request. */
export function operationOf({ method, path }: ApiRequest): string {
  return `${method} ${path}`;
}

/** The codes of the provider's documented statuses, for answers that do not give one. */
const codes: Readonly<Record<number, string>> = {
  400: 'invalid_body',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
};

/** The code of a status that is not a success. */
export function codeOfStatus(status: number): string {
  return codes[status] ?? (status >= 500 ? 'unavailable' : 'unexpected_answer');
}

/**
 * The path of one resource. It refuses invalid ids: `..` or the empty string would address another resource.
 * @throws ProviderError not_found
 */
export function resourcePath(collection: string, id: string): string {
  if (/^[\w-]{1,200}$/.test(id)) return `${collection}/${id}`;
  const failure = {
    code: 'not_found',
    operation: `${collection}/:id`,
    reason: 'no resource can have this id',
  };
  throw new ProviderError(failure, 'Ids consist of letters, digits, - and _');
}
