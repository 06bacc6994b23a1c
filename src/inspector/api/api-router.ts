import express, { type RequestHandler, Router } from 'express';
import { visible } from '../../base/visible.ts';
import { Elsewhere } from '../watch/elsewhere.ts';
import { mount } from './endpoint.ts';
import { endpointsOf } from './endpoints.ts';
import type { Inspected } from './lookups.ts';
import { openApi } from './openapi.ts';
import { expectNoParameters } from './overlooked.ts';

/** Everything under `/api`. */
export function apiRouter(inspected: Inspected): Router {
  const router = Router();
  const endpoints = endpointsOf(inspected);
  const description = openApi(endpoints);
  router.get(['/openapi.json', '/stream'], expectNoParameters);
  router.get('/openapi.json', (_req, res) => void res.json(description));
  router.get('/stream', stream(inspected));
  router.use(express.json({ limit: '16kb' }));
  for (const one of endpoints) mount(router, one);
  router.use(
    (_req, res) => void res.status(404).json({ error: 'there is nothing here; see /api/openapi.json' }),
  );
  return router;
}

const HEARTBEAT_MS = 15_000;
/** Each listener has a connection; a browser has one for each open page. */
const MOST_LISTENERS = 100;
/** A reader that is this many bytes behind misses messages; the next message makes its page reload anyway. */
const MOST_BEHIND = 65_536;

/** The live tail, as server-sent events. A page learns from it that something changed, and requests what it needs. */
function stream({ watch: { feed }, store, clock }: Inspected): RequestHandler {
  const elsewhere = new Elsewhere({ feed, store, clock });
  return (_req, res) => {
    if (feed.listeners >= MOST_LISTENERS) {
      return void res.status(503).set('Retry-After', '30').json({ error: 'too many clients listen already' });
    }
    res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
    res.flushHeaders();
    res.write(': listening\n\n');
    const end = feed.listen((changes) => {
      if (!res.writableEnded && res.writableLength < MOST_BEHIND)
        res.write(`event: changes\ndata: ${visible(JSON.stringify(changes))}\n\n`);
    });
    const unfollow = elsewhere.follow();
    let cancelBeat = () => {};
    const beat = () => {
      if (!res.writableEnded) res.write(': still here\n\n');
      cancelBeat = clock.after(HEARTBEAT_MS, beat);
    };
    cancelBeat = clock.after(HEARTBEAT_MS, beat);
    res.on('close', () => {
      cancelBeat();
      unfollow();
      end();
    });
  };
}
