import express, { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { channels, type Inspected, quarantine, rejections, stats, webhooks } from '../api/lookups.ts';
import { concernsOf } from './attention.ts';
import { eventPage, replayEvent } from './event-page.ts';
import { eventsPage } from './events-page.ts';
import { type Page, readQuery } from './page.ts';
import type { Render } from './render.ts';
import { replayMany, replayPage } from './replay-page.ts';

/** Every page, for people. Reading works without JavaScript, and so does replaying. */
export function pagesRouter(inspected: Inspected, render: Render): Router {
  const router = Router();
  const { store, clock, config } = inspected;
  const show = (path: string, page: Page) =>
    router.get(path, async (req: Request, res: Response) => {
      const [{ view, ...data }, overview] = await Promise.all([page(req, res), store.overview()]);
      const nav = { at: path, dead: overview.dead, quarantined: overview.quarantined };
      render(res, view, { nav, url: req.originalUrl, now: clock.now(), ...data });
    });

  show('/', async () => {
    const known = await stats(inspected);
    const webhookPath = config.WEBHOOK_PATH;
    return {
      view: 'overview',
      title: 'Overview',
      stats: known,
      webhookPath,
      concerns: concernsOf(known, clock.now()),
    };
  });
  show('/events', eventsPage(inspected));
  show('/events/replay', replayPage(inspected));
  show('/events/:id', eventPage(inspected));
  show('/channels', channelsPage(inspected));
  show('/rejections', async () => ({
    view: 'rejections',
    title: 'Rejections',
    ...(await rejections(inspected)),
  }));
  show('/quarantine', async () => ({
    view: 'quarantine',
    title: 'Quarantine',
    ...(await quarantine(inspected)),
  }));
  show('/webhooks', async () => ({ view: 'webhooks', title: 'Webhooks', ...(await webhooks(inspected)) }));

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

/** A board of live channels. */
function channelsPage({ store }: Pick<Inspected, 'store'>): Page {
  return async (req) => {
    const { state, after } = readQuery(channelsQuery, req.query);
    const found = await channels({ store }, { state, after, limit: CHANNELS });
    const { next } = found;
    return {
      view: 'channels',
      title: 'Channels',
      state,
      ...found,
      nextQuery: next === null ? undefined : new URLSearchParams({ ...(state && { state }), after: next }),
    };
  };
}
