import { randomBytes } from 'node:crypto';
import { type ErrorRequestHandler, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import type { drawRefusal } from './faults.ts';
import { type GuardOptions, guard, jsonRoutes, type RateLimit, statusOf } from './requests.ts';
import type { Webhook, Webhooks } from './webhooks.ts';

/** The dependencies of the webhooks API. */
export interface WebhooksApiNeeds {
  readonly webhooks: Webhooks;
  readonly rateLimit: RateLimit;
  readonly apiSecret: string;
  readonly baseUrl: () => string;
  /** the fault of a request */
  readonly refusal: (isReading: boolean) => ReturnType<typeof drawRefusal>;
  /** the names that lead to the mock */
  readonly own: GuardOptions;
  /** the media of a site, in order of creation */
  readonly listMedia: (site: string) => readonly Resource[];
}

/** A webhook, or a media, as lists have it. */
type Resource = Pick<Webhook, 'id' | 'created' | 'last_modified'> & { readonly metadata: object };

/** The webhooks API, and the list of a site's media, to be mounted at `/v2`. Every answer has the service's headers. */
export function webhooksApi(needs: WebhooksApiNeeds): Router {
  const { webhooks, listMedia } = needs;
  const router = Router().use(admit(needs));
  const route = jsonRoutes(router);
  route('get', '/webhooks', 200, ({ query }) => listPage('webhooks', webhooks.list(), query));
  route('post', '/webhooks', 201, ({ body }) => webhooks.create(body));
  route('get', '/webhooks/:id', 200, ({ id }) => webhooks.get(id));
  route('patch', '/webhooks/:id', 200, ({ id, body }) => webhooks.update(id, body));
  route('delete', '/webhooks/:id', 204, ({ id }) => webhooks.delete(id));
  route('get', '/sites/:id/media', 200, ({ id, query }) => listPage('media', listMedia(id), query));
  const refuseOthers = (path: string, allowed: string) =>
    router.all(path, (_request, response) =>
      sendApiError(response.set('Allow', allowed), 'method_not_allowed'),
    );
  refuseOthers('/webhooks', 'GET, HEAD, POST');
  refuseOthers('/webhooks/:id', 'DELETE, GET, HEAD, PATCH');
  refuseOthers('/sites/:id/media', 'GET, HEAD');
  router.use((_request, response) => sendApiError(response, 'not_found'));
  router.use(refuse);
  return router;
}

/**
 * Sets the headers that every answer has, and checks Host, Origin and the credential: the whole Authorization, as
 * documented, or what follows `Bearer`, as many clients send it. Then a fault may refuse the request.
 */
function admit({ rateLimit, apiSecret, baseUrl, own, refusal }: WebhooksApiNeeds): RequestHandler[] {
  const { limit } = rateLimit;
  return [
    (_request, response, next) => {
      response.set({
        'jw-request-limit': String(limit),
        'jw-request-remaining': String(limit),
        'jw-request-id': randomBytes(8).toString('hex'),
        'jw-proxied-request': 'false',
        'jw-dashboard-page': `${baseUrl()}/`,
      });
      next();
    },
    guard(own, (response, why) => sendApiError(response, 'forbidden', why)),
    (request, response, next) => {
      const credential = request.headers.authorization?.trim().replace(/^bearer\s+/i, '');
      if (credential !== apiSecret) return sendApiError(response, 'unauthorized');
      const remaining = rateLimit.take(apiSecret);
      response.set('jw-request-remaining', String(Math.max(0, remaining)));
      if (remaining < 0) return sendApiError(response, 'rate_limit_exceeded');
      const fault = refusal(['GET', 'HEAD'].includes(request.method));
      if (fault !== undefined) return sendApiError(response, fault);
      next();
    },
  ];
}

/** Answers a wrong request with one of the API's errors. A fault of the mock stays an error of the app. */
const refuse: ErrorRequestHandler = (error: unknown, _request, response: Response, next) => {
  const status = statusOf(error);
  // A URIError: an id that cannot be one.
  if (error instanceof URIError || status === 404) return sendApiError(response, 'not_found');
  if (error instanceof Error && status < 500) return sendApiError(response, 'invalid_body', error.message);
  next(error);
};

/** The errors of the API. The service does not document when it gives 409 and 422: here, they are faults. */
const apiErrors = {
  invalid_body: [400, 'The provided request body is invalid.'],
  unauthorized: [401, 'Provided authentication credentials are invalid'],
  forbidden: [403, 'Requestor does not have permission to perform the request'],
  not_found: [404, 'requested resource could not be found'],
  method_not_allowed: [405, 'Provided method is not allowed on the targeted resource'],
  conflict: [409, 'Request conflicts with state of target resource'],
  unprocessable: [422, 'Provided request cannot be processed'],
  rate_limit_exceeded: [429, 'Rate limit has been exceeded'],
} as const satisfies Record<string, readonly [number, string]>;

/**
 * Answers with an error in the API's envelope.
 * @param why stands after the service's own words: what the mock alone says
 */
function sendApiError(response: Response, code: keyof typeof apiErrors, why?: string): void {
  const [status, words] = apiErrors[code];
  const description = why === undefined ? words : `${words.replace(/\.$/, '')}. ${why}`;
  response.status(status).json({ errors: [{ code, description }] });
}

/** The fields that sort. Times and ids compare as texts. */
const sortFields = ['id', 'created', 'last_modified', 'name', 'description', 'webhook_url'] as const;

const wholeNumber = z.coerce.number().int().positive();
/** Invalid members of a query count as absent. */
const listQuery = z.object({
  page: wholeNumber.catch(1),
  page_length: wholeNumber.catch(10).transform((length) => Math.min(length, 100)),
  q: z.string().toLowerCase().catch(''),
  sort: z.string().catch(''),
});

/**
 * One page of webhooks or media, which come in order of creation. Each word of `q` must occur, in any case, in a readable field;
 * `field:word` in that field.
 */
function listPage(name: 'webhooks' | 'media', resources: readonly Resource[], query: unknown) {
  const { page, page_length, q, sort } = listQuery.parse(query);
  const found = sorted(resources, sort).filter(({ id, metadata }) => {
    const fields = Object.entries({ id, ...metadata }).map(
      ([name, value]) => [`${name}:`, [value].flat().join(' ').toLowerCase()] as const,
    );
    const isIn = (word: string) =>
      fields.some(
        ([name, text]) =>
          text.includes(word) || (word.startsWith(name) && text.includes(word.slice(name.length))),
      );
    return q.split(/\s+/).every(isIn);
  });
  const start = (page - 1) * page_length;
  return { page, page_length, total: found.length, [name]: found.slice(start, start + page_length) };
}

/** Sorts by each field in turn; equal resources stay in the order of creation, reversed if the first field is. */
function sorted(resources: readonly Resource[], sort: string): Resource[] {
  const given = sort.split(',').flatMap((part) => {
    const [name, direction] = part.trim().split(':');
    const field = sortFields.find((one) => one === name);
    return field ? [{ field, isAscending: direction === 'asc' }] : [];
  });
  const orders = given.length > 0 ? given : [{ field: 'created' as const, isAscending: false }];
  const created = orders[0]?.isAscending ? [...resources] : resources.toReversed();
  return orders.reduceRight((list, { field, isAscending }) => {
    const textOf = (resource: Resource) => String(Reflect.get({ ...resource, ...resource.metadata }, field));
    return list.sort((one, other) => {
      const [left, right] = isAscending ? [one, other] : [other, one];
      return textOf(left) < textOf(right) ? -1 : Number(textOf(left) > textOf(right));
    });
  }, created);
}
