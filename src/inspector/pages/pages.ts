import express, { Router } from 'express';
import { z } from 'zod';
import { type Inspected, parsed } from '../api/endpoint.ts';
import { channels, quarantine, rejections, webhooks } from '../api/reports.ts';
import { stats } from '../api/stats.ts';
import { concernsOf } from './attention.ts';
import { eventPage, eventsPage, replayEvent, replayMany, replayPage } from './events-page.ts';
import type { Page, Render } from './render.ts';

/** Every page, for people. Reading works without JavaScript, and so does replaying. */
export function pagesRouter(inspected: Inspected, render: Render): Router {
  const router = Router();
  const { store, clock, config } = inspected;
  const pages: Readonly<Record<string, Page>> = {
    '/': async () => {
      const known = await stats(inspected);
      const concerns = concernsOf(known, clock.now());
      return {
        view: 'overview',
        title: 'Overview',
        stats: known,
        webhookPath: config.WEBHOOK_PATH,
        concerns,
      };
    },
    '/events': eventsPage(inspected),
    '/events/replay': replayPage(inspected),
    '/events/:id': eventPage(inspected),
    '/channels': async ({ query }) => {
      const { state, after } = parsed(channelsQuery, query);
      const found = await channels(inspected, { state, after, limit: CHANNELS });
      return { view: 'channels', title: 'Channels', state, ...found };
    },
    '/rejections': async () => ({
      view: 'rejections',
      title: 'Rejections',
      ...(await rejections(inspected)),
    }),
    '/quarantine': async () => ({
      view: 'quarantine',
      title: 'Quarantine',
      ...(await quarantine(inspected)),
    }),
    '/webhooks': async () => ({ view: 'webhooks', title: 'Webhooks', ...(await webhooks(inspected)) }),
  };
  for (const [path, page] of Object.entries(pages)) {
    router.get(path, async (req, res) => {
      const [{ view, ...data }, overview] = await Promise.all([page(req, res), store.overview()]);
      const nav = { at: path.split('/')[1], dead: overview.dead, quarantined: overview.quarantined };
      render(res, view, { nav, now: clock.now(), ...data });
    });
  }
  const form = express.urlencoded({ extended: false, limit: '16kb' });
  router.post('/events/replay', form, replayMany(inspected));
  router.post('/events/:id/replay', form, replayEvent(inspected));
  return router;
}

const CHANNELS = 200;
const channelsQuery = z.object({
  state: z.enum(['active', 'idle']).optional(),
  after: z.string().max(200).optional(),
});
