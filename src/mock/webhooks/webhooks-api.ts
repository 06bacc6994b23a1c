import { type ErrorRequestHandler, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import { type GuardOptions, guard } from '../guard.ts';
import { statusOf } from '../mock-error.ts';
import type { Random } from '../random.ts';
import type { RateLimit } from '../rate-limit.ts';
import { jsonBody, parse } from '../request-input.ts';
import { listPage } from './webhook-listing.ts';
import { metadataChangeSchema, metadataSchema, type WebhookRegistry } from './webhook-registry.ts';

/** The dependencies of the webhooks API. */
export interface WebhooksApiNeeds {
  readonly registry: WebhookRegistry;
  readonly rateLimit: RateLimit;
  readonly apiSecret: string;
  /** Where request ids come from. */
  readonly random: Random;
  readonly baseUrl: () => string;
  /** the names that lead to the mock */
  readonly own: GuardOptions;
}

/** The webhooks API, to be mounted at `/v2`. Every answer has the service's headers. */
export function webhooksApi(needs: WebhooksApiNeeds): Router {
  const forbid = guard(needs.own, (response, why) => sendApiError(response, 'forbidden', why));
  return Router().use(describe(needs), forbid, admit(needs), webhookRoutes(needs.registry));
}

/** Sets the headers that every answer has. */
function describe({ rateLimit, random, baseUrl }: WebhooksApiNeeds): RequestHandler {
  return (_request, response, next) => {
    response.set({
      'jw-request-limit': String(rateLimit.limit),
      'jw-request-remaining': String(rateLimit.limit),
      'jw-request-id': random.id(16),
      'jw-proxied-request': 'false',
      'jw-dashboard-page': `${baseUrl()}/`,
    });
    next();
  };
}

function admit({ rateLimit, apiSecret }: WebhooksApiNeeds): RequestHandler {
  return (request, response, next) => {
    const isKnown = credentialOf(request.headers.authorization) === apiSecret;
    const remaining = isKnown ? rateLimit.take(apiSecret) : rateLimit.limit;
    response.set('jw-request-remaining', String(Math.max(0, remaining)));
    if (!isKnown) return sendApiError(response, 'unauthorized');
    if (remaining < 0) return sendApiError(response, 'rate_limit_exceeded');
    next();
  };
}

/** The credential in an Authorization header: the whole value, as documented, or behind `Bearer`, as many clients send it. */
function credentialOf(authorization: string | undefined): string | undefined {
  return authorization?.trim().replace(/^bearer\s+/i, '');
}

const creation = z.object({ metadata: metadataSchema });
const update = z.object({ metadata: metadataChangeSchema });

/** The operations on webhooks, to be mounted at `/v2` behind the check of the credential. */
function webhookRoutes(registry: WebhookRegistry): Router {
  const router = Router();
  router
    .route('/webhooks')
    .get((request, response) => {
      response.json(listPage(registry.list(), request.query));
    })
    .post(...jsonBody, (request, response) => {
      response.status(201).json(registry.create(parse(creation, request.body).metadata));
    })
    .all(refuseMethod('GET, HEAD, POST'));
  router
    .route('/webhooks/:id')
    .get((request, response) => {
      response.json(registry.get(request.params.id));
    })
    .patch(...jsonBody, (request, response) => {
      registry.get(request.params.id);
      response.json(registry.update(request.params.id, parse(update, request.body).metadata));
    })
    .delete((request, response) => {
      registry.delete(request.params.id);
      response.status(204).end();
    })
    .all(refuseMethod('DELETE, GET, HEAD, PATCH'));
  router.use((_request, response) => sendApiError(response, 'not_found'));
  router.use(refuse);
  return router;
}

function refuseMethod(allowed: string): RequestHandler {
  return (_request, response) => {
    response.set('Allow', allowed);
    sendApiError(response, 'method_not_allowed');
  };
}

/** Answers a wrong request with one of the API's errors. A fault of the mock stays an error of the app. */
const refuse: ErrorRequestHandler = (error: unknown, _request, response: Response, next) => {
  if (error instanceof URIError) return sendApiError(response, 'not_found'); // an id that cannot be one
  const status = statusOf(error);
  if (status === 404) return sendApiError(response, 'not_found');
  if (status >= 400 && status < 500) return sendApiError(response, 'invalid_body');
  next(error);
};

/** The errors that the mock gives. The service has more (409, 422), but does not document when. */
const apiErrors = {
  invalid_body: [400, 'The provided request body is invalid.'],
  unauthorized: [401, 'Provided authentication credentials are invalid'],
  forbidden: [403, 'Requestor does not have permission to perform the request'],
  not_found: [404, 'requested resource could not be found'],
  method_not_allowed: [405, 'Provided method is not allowed on the targeted resource'],
  rate_limit_exceeded: [429, 'Rate limit has been exceeded'],
} as const satisfies Record<string, readonly [number, string]>;

/** A code of the webhooks API's errors. */
type ApiErrorCode = keyof typeof apiErrors;

/**
 * Answers with an error in the API's envelope.
 * @param why stands after the service's own words, if the refusal is one of the mock only
 */
function sendApiError(response: Response, code: ApiErrorCode, why?: string): void {
  const [status, words] = apiErrors[code];
  const description = why === undefined ? words : `${words}: ${why}`;
  response.status(status).json({ errors: [{ code, description }] });
}
