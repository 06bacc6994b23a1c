import express, { type Request, type Response, Router } from 'express';
import { type Parts, quarantine, rejections, stats, webhooks } from '../api/lookups.ts';
import { countOf } from '../watch/metrics.ts';
import { concernsOf } from './attention.ts';
import { channelsPage } from './channels-page.ts';
import { eventPage, replayEvent } from './event-page.ts';
import { eventsPage } from './events-page.ts';
import type { Render } from './render.ts';
import { replayMany, replayPage } from './replay-page.ts';

/** Shows a page: its view, and what that needs. */
export type Page = (
  req: Request,
  res: Response,
) => Promise<{ readonly view: string; readonly [name: string]: unknown }>;

/** Every page, for people. Reading works without JavaScript, and so does replaying. */
export function pagesRouter(parts: Parts, render: Render): Router {
  const router = Router();
  const { store, clock, config } = parts;
  const show = (path: string, page: Page) =>
    router.get(path, async (req: Request, res: Response) => {
      const [{ view, ...data }, overview] = await Promise.all([page(req, res), store.overview()]);
      const nav = { at: path, dead: countOf(overview, 'dead'), quarantined: overview.quarantined };
      render(res, view, { nav, url: req.originalUrl, now: clock.now(), ...data });
    });

  show('/', async () => {
    const known = await stats(parts);
    const webhookPath = config.WEBHOOK_PATH;
    return {
      view: 'overview',
      title: 'Overview',
      stats: known,
      webhookPath,
      concerns: concernsOf(known, clock.now()),
    };
  });
  show('/events', eventsPage(parts));
  show('/events/replay', replayPage(parts));
  show('/events/:id', eventPage(parts));
  show('/channels', channelsPage(parts));
  show('/rejections', async () => ({
    view: 'rejections',
    title: 'Rejections',
    ...(await rejections(parts)),
  }));
  show('/quarantine', async () => ({
    view: 'quarantine',
    title: 'Quarantine',
    ...(await quarantine(parts)),
  }));
  show('/webhooks', async () => ({ view: 'webhooks', title: 'Webhooks', ...(await webhooks(parts)) }));

  const form = express.urlencoded({ extended: false, limit: '16kb' });
  router.post('/events/replay', form, replayMany(parts));
  router.post('/events/:id/replay', form, replayEvent(parts));
  return router;
}
