import { type RequestHandler, Router } from 'express';
import { type GuardOptions, guard } from '../guard.ts';
import type { Random } from '../random.ts';
import type { RateLimit } from '../rate-limit.ts';
import { sendApiError } from './api-errors.ts';
import { credentialOf } from './credential.ts';
import { webhookRoutes } from './routes.ts';
import type { WebhookRegistry } from './webhook-registry.ts';

/** What the webhooks API works with. */
export interface WebhooksApiParts {
  readonly registry: WebhookRegistry;
  readonly rateLimit: RateLimit;
  readonly apiSecret: string;
  /** Where request ids come from. */
  readonly random: Random;
  readonly baseUrl: () => string;
  /** what the mock may be asked for as */
  readonly own: GuardOptions;
}

/** The webhooks API, to be mounted at `/v2`: every answer has the service's headers, whatever it says. */
export function webhooksApi(parts: WebhooksApiParts): Router {
  const forbid = guard(parts.own, (response, why) => sendApiError(response, 'forbidden', why));
  return Router().use(describe(parts), forbid, admit(parts), webhookRoutes(parts.registry));
}

/** Puts onto an answer what every answer carries. */
function describe({ rateLimit, random, baseUrl }: WebhooksApiParts): RequestHandler {
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

function admit({ rateLimit, apiSecret }: WebhooksApiParts): RequestHandler {
  return (request, response, next) => {
    const isKnown = credentialOf(request.headers.authorization) === apiSecret;
    const remaining = isKnown ? rateLimit.take(apiSecret) : rateLimit.limit;
    response.set('jw-request-remaining', String(Math.max(0, remaining)));
    if (!isKnown) return sendApiError(response, 'unauthorized');
    if (remaining < 0) return sendApiError(response, 'rate_limit_exceeded');
    next();
  };
}
