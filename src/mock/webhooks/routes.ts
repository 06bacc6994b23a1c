import { type ErrorRequestHandler, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import { statusOf } from '../error-status.ts';
import { parse } from '../parse.ts';
import { jsonBody } from '../request-input.ts';
import { sendApiError } from './api-errors.ts';
import { metadataChangeSchema, metadataSchema } from './metadata.ts';
import { listPage } from './webhook-listing.ts';
import type { WebhookRegistry } from './webhook-registry.ts';

const creation = z.object({ metadata: metadataSchema });
const update = z.object({ metadata: metadataChangeSchema });

/** The operations on webhooks, to be mounted at `/v2`, behind what checks the credential. */
export function webhookRoutes(registry: WebhookRegistry): Router {
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

/** Whatever is wrong with a request is one of the API's errors; a fault of the mock's own stays one. */
const refuse: ErrorRequestHandler = (error: unknown, _request, response: Response, next) => {
  if (error instanceof URIError) return sendApiError(response, 'not_found'); // an id that cannot be one
  const status = statusOf(error);
  if (status === 404) return sendApiError(response, 'not_found');
  if (status >= 400 && status < 500) return sendApiError(response, 'invalid_body');
  next(error);
};
