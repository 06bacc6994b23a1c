import express, { Router } from 'express';
import { z } from 'zod';
import { type Inspected, inputOf, mount } from './endpoint.ts';
import { endpointsOf } from './endpoints.ts';
import { openApi } from './openapi.ts';
import { stream } from './stream.ts';

/** Everything under `/api`. */
export function apiRouter(inspected: Inspected): Router {
  const router = Router();
  const endpoints = endpointsOf(inspected);
  const description = openApi(endpoints);
  router.get(['/openapi.json', '/stream'], (req, _res, next) => {
    inputOf(z.object({}), req);
    next();
  });
  router.get('/openapi.json', (_req, res) => void res.json(description));
  router.get('/stream', stream(inspected));
  // Whatever type it says: a body that nobody reads would be passed over.
  router.use(express.json({ limit: '16kb', type: () => true }));
  for (const one of endpoints) mount(router, one);
  router.use(
    (_req, res) => void res.status(404).json({ error: 'there is nothing here; see /api/openapi.json' }),
  );
  return router;
}
