import type { Response } from 'express';

/** The errors that the mock has cause to give; the service has more (409, 422), but never says when. */
const apiErrors = {
  invalid_body: [400, 'The provided request body is invalid.'],
  unauthorized: [401, 'Provided authentication credentials are invalid'],
  forbidden: [403, 'Requestor does not have permission to perform the request'],
  not_found: [404, 'requested resource could not be found'],
  method_not_allowed: [405, 'Provided method is not allowed on the targeted resource'],
  rate_limit_exceeded: [429, 'Rate limit has been exceeded'],
} as const satisfies Record<string, readonly [number, string]>;

/** A code of the webhooks API's errors. */
export type ApiErrorCode = keyof typeof apiErrors;

/**
 * Answers with an error in the API's envelope.
 * @param why said after the service's own words, where the cause is the mock's own
 */
export function sendApiError(response: Response, code: ApiErrorCode, why?: string): void {
  const [status, words] = apiErrors[code];
  const description = why === undefined ? words : `${words}: ${why}`;
  response.status(status).json({ errors: [{ code, description }] });
}
