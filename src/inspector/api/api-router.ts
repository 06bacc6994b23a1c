import type { RequestHandler, Response } from 'express';
import express, { Router } from 'express';
import { z } from 'zod';
import { repeat } from '../../base/clock.ts';
import { visible } from '../../base/text.ts';
import { answerTo, type Endpoint, type Inspected } from './endpoint.ts';
import { endpointsOf } from './endpoints.ts';

/** Everything under `/api`. */
export function apiRouter(inspected: Inspected): Router {
  const router = Router();
  const endpoints = endpointsOf(inspected);
  const description = openApi(endpoints);
  router.get('/openapi.json', (_req, res) => void res.json(description));
  router.get('/stream', stream(inspected));
  // Whatever type it says: a body that nobody reads would be passed over.
  router.use(express.json({ limit: '16kb', type: () => true }));
  for (const one of endpoints)
    router[one.method ?? 'get'](one.path, async (_req, res) => {
      const answer = await answerTo(one, res, inspected.log);
      if (typeof answer === 'string') res.type('application/x-ndjson').send(visible(answer));
      else res.type('json').send(visible(JSON.stringify(answer)));
    });
  return router;
}

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 description of the API, from the schemas that check its requests. */
function openApi(endpoints: readonly Endpoint[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const one of endpoints) {
    const path = `/api${one.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    paths[path] = { ...paths[path], [one.method ?? 'get']: operation(one) };
  }
  paths['/api/stream'] = { get: { summary: STREAM, responses: RESPONSES } };
  return {
    openapi: '3.1.0',
    info: {
      title: 'webhook-receiver-kit inspector',
      version: '1',
      description:
        'Times are ISO 8601 in UTC. Where ADMIN_TOKEN is set every route needs it as a Bearer token. ' +
        'A JSON body may have the parameters, too. One that a route does not know, or that is given twice, is refused with 400.',
    },
    servers: [{ url: '..' }],
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }, {}],
    paths,
  };
}

const RESPONSES = {
  200: { description: 'JSON: names as in notifications, times in ISO 8601, null for what is absent' },
  default: {
    description:
      '{"error": ...}: 400: the request has mistakes; 401: no token, or a wrong one; 403: the token only reads; ' +
      '404: no such event; 409: not now; 429: too many wrong tokens; 503: the store is away',
  },
};

const STREAM =
  'Server-sent events: `changes`, once a second at most, when something came in, was handled or refused, by any process; ' +
  'data: {"pending": 0, "running": 0, "dead": 0, "quarantined": 0}';

function operation({ path, summary, input }: Endpoint): Json {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input' });
  const parameters = Object.entries(properties).map(([name, schema]) => {
    const place = path.includes(`:${name}`) ? 'path' : 'query';
    return { name, in: place, required: required.includes(name), schema };
  });
  return { summary, parameters, responses: RESPONSES };
}

/** How soon listeners hear of a change, also of what other processes did. */
const EVERY_MS = 1000;
/** A reader that is this many bytes behind misses messages; the next message makes its page reload anyway. */
const MOST_BEHIND = 65_536;

/**
 * The live tail, as server-sent events. A page learns from it that something changed, and requests what it needs. It looks at the store
 * once a second while somebody listens.
 */
function stream({ store, watch, clock }: Inspected): RequestHandler {
  const listeners = new Set<Response>();
  let seen: string | undefined;
  let stop = () => {};

  const tell = (text: string) => {
    for (const res of listeners) if (!res.writableEnded && res.writableLength < MOST_BEHIND) res.write(text);
  };
  const look = async (): Promise<number> => {
    // The newest event shows what came and was handled between two looks.
    const looks = Promise.all([
      store.reports.overview(),
      store.queue.search({ filter: {}, stretch: { limit: 1, reach: 1 } }),
    ]);
    const found = await looks.catch(() => undefined); // pages say themselves that the store cannot be reached
    if (!found) return EVERY_MS;
    const [{ pending, running, dead, quarantined }] = found;
    const now = JSON.stringify([found, watch.changes]);
    const data = JSON.stringify({ pending, running, dead, quarantined });
    const hasChanged = seen !== undefined && seen !== now;
    seen = now;
    tell(hasChanged ? `event: changes\ndata: ${data}\n\n` : ': still here\n\n'); // which keeps connections open
    return EVERY_MS;
  };

  return (_req, res) => {
    res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
    res.flushHeaders();
    res.write(': listening\n\n');
    listeners.add(res);
    if (listeners.size === 1) {
      seen = undefined;
      stop = repeat(clock, 0, look);
    }
    res.on('close', () => {
      listeners.delete(res);
      if (listeners.size === 0) stop();
    });
  };
}
