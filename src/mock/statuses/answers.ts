import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { statusOf } from '../requests.ts';

/** An answer that is not a success: `{"error": message}` under this status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** 404 in the words of the specification, for records that do not exist and for records of another user. */
export function recordNotFound(): ApiError {
  return new ApiError(404, 'Record not found');
}

/** The record of an id as it stands in a path. @throws ApiError 404 if there is none that the caller can reach */
export function recordOf<T>(records: Map<number, T>, id: string, isReachable: (one: T) => boolean): T {
  const record = records.get(/^\d+$/.test(id) ? Number(id) : Number.NaN);
  if (record === undefined || !isReachable(record)) throw recordNotFound();
  return record;
}

/** @throws ApiError 422 that names every rule that is broken, in the order of the rules; each has its problem beside it */
export function checkRules(rules: readonly (readonly [isBroken: boolean, problem: string])[]): void {
  const problems = rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);
  if (problems.length > 0) throw new ApiError(422, `Validation failed: ${problems.join(', ')}`);
}

/** Answers refusals, also those of Express: a path that is not URL-encoded, a body too large or cut short. */
export const answerApiError: ErrorRequestHandler = (error, _request, response, next) => {
  const status = statusOf(error);
  if (status >= 500) return next(error);
  const isOwn = error instanceof ApiError;
  if (isOwn) response.set(error.headers);
  response.status(status).json({ error: isOwn ? error.message : STATUS_CODES[status] });
};

/**
 * Lets pages of every origin use the API, as real servers do: a token is all that it asks for, and no cookie. A
 * preflight is answered here, before it could count as a request.
 */
export const openToPages: RequestHandler = (request, response, next) => {
  const sentId = request.get('x-request-id')?.replace(/[^\w@-]/g, '');
  response.set({
    'X-Request-Id': sentId?.slice(0, 255) || randomBytes(16).toString('hex'),
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers':
      'Link, X-RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id',
  });
  if (request.method !== 'OPTIONS') return next();
  const asked = request.get('access-control-request-headers');
  response.set({
    'Access-Control-Allow-Methods': 'POST, PUT, DELETE, GET, PATCH, OPTIONS',
    'Access-Control-Allow-Headers': asked ?? 'Authorization, Content-Type, Idempotency-Key',
    'Access-Control-Max-Age': '7200',
  });
  response.status(200).end();
};
