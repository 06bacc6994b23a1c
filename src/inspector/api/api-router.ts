import express, { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { repeat } from '../../base/clock.ts';
import { visible } from '../../base/text.ts';
import { answerTo, type Inspected } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';

/** Everything under `/api`. */
export function apiRouter(inspected: Inspected): Router {
  const router = Router();
  router.get('/openapi.json', (_req, res) => void res.json(openApi()));
  router.get('/stream', stream(inspected));
  // Whatever type a body says, it is read: else it would be ignored.
  router.use(express.json({ limit: '16kb', type: () => true }));
  for (const one of ENDPOINTS)
    router[one.method](one.path, async (_req, res) => {
      const answer = await answerTo(one, inspected, res);
      if (typeof answer === 'string') res.type('application/x-ndjson').send(visible(answer));
      else res.type('json').send(visible(JSON.stringify(answer)));
    });
  return router;
}

/** The OpenAPI 3.1 description of the API, from the schemas that check its requests. */
function openApi(): object {
  const paths: Record<string, object> = { '/api/stream': { get: { summary: STREAM, responses: RESPONSES } } };
  for (const { path, method, summary, input } of ENDPOINTS) {
    const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input' });
    const parameters = Object.entries(properties).map(([name, schema]) => {
      const place = path.includes(`:${name}`) ? 'path' : 'query';
      return { name, in: place, required: required.includes(name), schema };
    });
    const operation = { summary, parameters, responses: RESPONSES };
    paths[`/api${path.replaceAll(/:(\w+)/g, '{$1}')}`] = { [method]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'webhook-receiver-kit inspector',
      version: '1',
      description:
        'Answers are JSON: names as in notifications, times in ISO 8601 and UTC, null for what is absent. Where ADMIN_TOKEN is set, every route needs it as a Bearer token; those of GET take ADMIN_READ_TOKEN, too. ' +
        'A JSON body may have the parameters, too. A parameter that a route does not know, or that is given twice, is refused with 400.',
    },
    servers: [{ url: '..' }],
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }, {}],
    paths,
  };
}

const REFUSED =
  '{"error": ...}: 400: the request has mistakes; 401: no token, or a wrong one; 403: the token only reads, or the Host or Origin is foreign; ' +
  '404: no such event; 409: not now; 429: too many wrong tokens; 503: the store is away';
const RESPONSES = { 200: { description: 'done' }, default: { description: REFUSED } };

const STREAM =
  'Server-sent events: `changes`, once a second at most, when something came in, was handled or refused, by any process; ' +
  'data: {"pending": 0, "running": 0, "dead": 0, "quarantined": 0}. It ends after an hour: connect again.';

/** How soon a listener hears of a change, also of what other processes did. */
const EVERY_MS = 1000;
/** Then a page connects again, so that its session is checked again. */
const LASTS_MS = 3_600_000;

/** The live tail, as server-sent events. A page learns from it that something changed, and requests what it needs. */
function stream({ store, watch, clock }: Inspected): RequestHandler {
  return (_req, res) => {
    res.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    res.flushHeaders();
    res.write(': listening\n\n');
    const endsAt = clock.now() + LASTS_MS;
    let seen: string | undefined;
    const stop = repeat(clock, 0, async () => {
      if (clock.now() > endsAt) res.end();
      // The last place shows what came and was handled between two looks.
      const looks = Promise.all([store.reports.overview(), store.queue.lastSeq()]);
      const found = await looks.catch(() => undefined); // pages say themselves that the store cannot be reached
      if (!found || res.writableEnded || res.destroyed) return EVERY_MS;
      const [{ pending, running, dead, quarantined }] = found;
      const now = JSON.stringify([found, watch.changes]);
      const data = JSON.stringify({ pending, running, dead, quarantined });
      const hasChanged = seen !== undefined && seen !== now;
      seen = now;
      res.write(hasChanged ? `event: changes\ndata: ${data}\n\n` : ': still here\n\n'); // which keeps the connection open
      return EVERY_MS;
    });
    res.on('close', stop);
  };
}
