import express, { Router } from 'express';
import { mount } from './endpoint.ts';
import { endpointsOf } from './endpoints.ts';
import type { Parts } from './lookups.ts';
import { openApi } from './openapi.ts';
import { stream } from './stream.ts';

/** Everything under `/api`. */
export function apiRouter(parts: Parts): Router {
  const router = Router();
  const endpoints = endpointsOf(parts);
  const description = openApi(endpoints);
  router.get('/openapi.json', (_req, res) => void res.json(description));
  router.get('/stream', stream(parts.watch.feed, parts.clock));
  router.use(express.json({ limit: '16kb' }));
  for (const one of endpoints) mount(router, one);
  router.use(
    (_req, res) => void res.status(404).json({ error: 'there is nothing here; see /api/openapi.json' }),
  );
  return router;
}
