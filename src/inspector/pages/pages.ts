import express, { Router } from 'express';
import { type Inspected, parsed } from '../api/endpoint.ts';
import { channels, channelsQuery, quarantine, rejections, webhooks } from '../api/reports.ts';
import { stats } from '../api/stats.ts';
import { concernsOf } from './attention.ts';
import { bulkPage, changeEvent, changeMany, eventPage, eventsPage } from './events-page.ts';
import type { Page, Render } from './render.ts';

/** Every page, for people. Reading works without JavaScript, and so does replaying. */
export function pagesRouter(inspected: Inspected, render: Render): Router {
  const router = Router();
  const { store, clock, config } = inspected;
  const pages: Readonly<Record<string, Page>> = {
    '/': async (_req, _res, asked) => {
      const known = await stats(inspected, asked);
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
    '/events/replay': bulkPage(inspected, 'replay'),
    '/events/dismiss': bulkPage(inspected, 'dismiss'),
    '/events/:id': eventPage(inspected),
    '/channels': async ({ query }) => {
      const asked = parsed(channelsQuery, query);
      return {
        view: 'channels',
        title: 'Channels',
        state: asked.state,
        ...(await channels(inspected, asked)),
      };
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
      const asked = store.overview();
      const [{ view, ...data }, overview] = await Promise.all([page(req, res, asked), asked]);
      const nav = { at: path.split('/')[1], dead: overview.dead, quarantined: overview.quarantined };
      render(res, view, { nav, now: clock.now(), ...data });
    });
  }
  const form = express.urlencoded({ extended: false, limit: '16kb' });
  for (const verb of ['replay', 'dismiss'] as const) {
    router.post(`/events/${verb}`, form, changeMany(inspected, verb));
    router.post(`/events/:id/${verb}`, form, changeEvent(inspected, verb));
  }
  return router;
}
