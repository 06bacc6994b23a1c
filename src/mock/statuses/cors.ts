import type { RequestHandler } from 'express';
import type { Random } from '../random.ts';

const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*$/;

/**
 * Lets pages of every origin use the API, as real servers do: a token is all that it asks for, and no cookie. A
 * preflight is answered here, before it could count as a request.
 */
export function openToPages(requests: Random): RequestHandler {
  return (request, response, next) => {
    response.set({
      'X-Request-Id': sentId(request.get('x-request-id')) ?? requests.id(32),
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers':
        'Link, X-RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id',
    });
    if (request.method !== 'OPTIONS') return next();
    const asked = request.get('access-control-request-headers') ?? '';
    response.set({
      'Access-Control-Allow-Methods': 'POST, PUT, DELETE, GET, PATCH, OPTIONS',
      'Access-Control-Allow-Headers': HEADER_NAMES.test(asked)
        ? asked
        : 'Authorization, Content-Type, Idempotency-Key',
      'Access-Control-Max-Age': '7200',
    });
    response.status(200).end();
  };
}

/** Rails takes over the id that a client has given. */
function sentId(header: string | undefined): string | undefined {
  return header?.replace(/[^\w@-]/g, '').slice(0, 255) || undefined;
}
