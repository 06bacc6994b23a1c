import { type ErrorRequestHandler, Router } from 'express';
import { advanceSchema, deliveryQuerySchema, notificationSchema } from './control/inputs.ts';
import { simulationRoutes } from './control/simulation-routes.ts';
import { faultsSchema } from './deliveries/delivery-faults.ts';
import { statusOf } from './error-status.ts';
import { type GuardOptions, guard } from './guard.ts';
import type { MockProvider } from './mock-provider.ts';
import { parse } from './parse.ts';
import { jsonBody } from './request-input.ts';

/** What steers the mock, to be mounted at `/_mock`. Errors are `{"error": "..."}`. */
export function controlRoutes(mock: MockProvider, own: GuardOptions): Router {
  const router = Router();
  const forbid = guard(own, (response, error) => response.status(403).json({ error }));
  router.use(forbid, ...jsonBody);
  router.use(simulationRoutes(mock));

  router.post('/notifications', (request, response) => {
    const deliveries = mock.sendNotification(parse(notificationSchema, request.body));
    response.status(202).json({ deliveries });
  });
  router.get('/deliveries', (request, response) => {
    const { before = Number.POSITIVE_INFINITY, limit, ...filter } = parse(deliveryQuerySchema, request.query);
    const found = mock.deliveries(filter);
    const deliveries = found.filter(({ id }) => Number(id) < before).slice(-limit);
    response.json({ total: found.length, deliveries });
  });
  router.post('/deliveries/:id/redeliver', (request, response) => {
    response.status(202).json(mock.redeliver(request.params.id));
  });
  router.put('/faults', (request, response) => {
    response.json(mock.setFaults(parse(faultsSchema, request.body)));
  });
  router
    .route('/clock')
    .get((_request, response) => {
      response.json({ now: timeOf(mock) });
    })
    .post(async (request, response) => {
      await mock.advance(parse(advanceSchema, request.body).advance);
      response.json({ now: timeOf(mock) });
    });
  router.post('/reset', (_request, response) => {
    mock.reset();
    response.status(204).end();
  });

  router.use((request, response) => {
    response.status(404).json({ error: `there is no route ${request.method} ${request.originalUrl}` });
  });
  router.use(refuse);
  return router;
}

function timeOf(mock: MockProvider): string {
  return new Date(mock.now()).toISOString();
}

const refuse: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = statusOf(error);
  if (!(error instanceof Error) || status >= 500) return next(error);
  response.status(status === 404 || status === 409 ? status : 400).json({ error: error.message });
};
