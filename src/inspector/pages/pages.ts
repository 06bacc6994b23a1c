import express, { type RequestHandler, Router } from 'express';
import { answerTo, type Inspected, parsed } from '../api/endpoint.ts';
import { endpointsOf } from '../api/endpoints.ts';
import { channelList, channelsQuery, problemList, quarantine, refusals } from '../api/reports.ts';
import { webhooks } from '../api/webhooks.ts';
import { stats } from '../attention/attention.ts';
import { bulkPage, changeMany, eventPage, eventsPage } from './events-page.ts';
import { type Page, type Render, rootOf } from './render.ts';

/** Endpoints that forms ask, too, and the page that comes after. */
const AFTER: Readonly<Record<string, (answer: Record<string, string>) => string>> = {
  '/pause': () => '',
  '/resume': () => '',
  '/instances/:name': () => '',
  '/quarantine/admit': () => 'refused',
  '/quarantine/drop': () => 'refused',
  '/events/:id/replay': ({ id }) => `events/${id}`,
  '/events/:id/dismiss': ({ id }) => `events/${id}`,
};

/** Every page, for people. Reading works without JavaScript, and so do forms. */
export function pagesRouter(inspected: Inspected, render: Render): Router {
  const router = Router();
  const { store, clock, config, log, isDev } = inspected;
  const pages: Readonly<Record<string, Page>> = {
    '/': async (_req, _res, asked) => ({
      view: 'overview',
      stats: await stats(inspected, asked),
      webhookPath: config.WEBHOOK_PATH,
    }),
    '/events': eventsPage(inspected),
    '/events/replay': bulkPage(inspected, 'replay'),
    '/events/dismiss': bulkPage(inspected, 'dismiss'),
    '/events/:id': eventPage(inspected),
    '/channels': async ({ query }) => {
      const asked = parsed(channelsQuery, query);
      return { view: 'channels', state: asked.state, ...(await channelList(inspected, asked)) };
    },
    '/problems': async () => ({ view: 'problems', ...(await problemList(inspected)) }),
    '/refused': async () => ({
      view: 'refused',
      ...(await refusals(inspected)),
      kept: await quarantine(inspected),
    }),
    '/webhooks': async () => ({ view: 'webhooks', ...(await webhooks(inspected)) }),
    // Loaded when it is asked for: no start waits for what only developers use.
    ...(isDev && {
      '/send': async (...given) => (await import('./send-page.ts')).sendPage(inspected)(...given),
    }),
  };
  const form = express.urlencoded({ extended: false, limit: '16kb' });
  for (const [path, page] of Object.entries(pages)) {
    const show: RequestHandler = async (req, res) => {
      const asked = store.reports.overview();
      const [{ view, ...data }, overview] = await Promise.all([page(req, res, asked), asked]);
      const nav = { at: path.split('/')[1], dead: overview.dead, quarantined: overview.quarantined };
      render(res, view, { nav, now: clock.now(), ...data });
    };
    router.get(path, show);
    if (path === '/send') router.post(path, form, show);
  }
  for (const endpoint of endpointsOf(inspected)) {
    const next = AFTER[endpoint.path];
    if (!next) continue;
    router.post(endpoint.path, form, async (req, res) => {
      const done = await answerTo(endpoint, res, log);
      res.redirect(303, `${rootOf(req)}${next(Object(done))}`);
    });
  }
  for (const verb of ['replay', 'dismiss'] as const)
    router.post(`/events/${verb}`, form, changeMany(inspected, verb));
  return router;
}
