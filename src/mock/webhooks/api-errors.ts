import type { Response } from 'express';

/** The errors that the mock has cause to give; the service has more (403, 409, 422), but never says when. */
const apiErrors = {
  invalid_body: [400, 'The provided request body is invalid.'],
  unauthorized: [401, 'Provided authentication credentials are invalid'],
  not_found: [404, 'requested resource could not be found'],
  method_not_allowed: [405, 'Provided method is not allowed on the targeted resource'],
  rate_limit_exceeded: [429, 'Rate limit has been exceeded'],
} as const satisfies Record<string, readonly [number, string]>;

/** A code of the webhooks API's errors. */
export type ApiErrorCode = keyof typeof apiErrors;

/** Answers with an error in the API's envelope. */
export function sendApiError(response: Response, code: ApiErrorCode): void {
  const [status, description] = apiErrors[code];
  response.status(status).json({ errors: [{ code, description }] });
}
