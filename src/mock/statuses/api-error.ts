import http from 'node:http';
import type { ErrorRequestHandler } from 'express';

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

/** 422 that names every rule that is broken, in the order of the rules. */
export function validationFailed(problems: readonly string[]): ApiError {
  return new ApiError(422, `Validation failed: ${problems.join(', ')}`);
}

/** Answers the ApiErrors that routes throw. Other errors, which are faults of the mock, go to the app that mounts it. */
export const answerError: ErrorRequestHandler = (error, _request, response, next) => {
  const known = error instanceof ApiError ? error : refusalOf(error);
  if (known === undefined) return next(error);
  response.status(known.status).set(known.headers).json({ error: known.message });
};

/** A refusal of Express, before any route: a path that is not URL-encoded, a body too large or cut short. */
function refusalOf(error: unknown): ApiError | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if (!('status' in error) || typeof error.status !== 'number') return undefined;
  if (error.status < 400 || error.status > 499) return undefined;
  return new ApiError(error.status, http.STATUS_CODES[error.status] ?? 'Bad Request');
}
