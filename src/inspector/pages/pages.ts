import express, { type RequestHandler, Router } from 'express';
import { answerTo, type Inspected, parsed } from '../api/endpoint.ts';
import { endpointsOf } from '../api/endpoints.ts';
import { channelList, channelsQuery, problemList, quarantine, refusals } from '../api/reports.ts';
import { webhooks } from '../api/webhooks.ts';
import { stats } from '../attention/attention.ts';
import { bulkPage, changeMany, eventPage, eventsPage } from './events-page.ts';
import { type Page, type Render, rootOf } from './render.ts';

/** Every page, for people. Reading works without JavaScript, and so do forms. */
export function pagesRouter(inspected: Inspected, render: Render): Router {
  const router = Router();
  const { store, clock, config, log, isDev } = inspected;
  const pages: Readonly<Record<string, Page>> = {
    '/': async () => ({ stats: await stats(inspected), webhookPath: config.WEBHOOK_PATH }),
    '/events': eventsPage(inspected),
    '/events/replay': bulkPage(inspected, 'replay'),
    '/events/dismiss': bulkPage(inspected, 'dismiss'),
    '/events/:id': eventPage(inspected),
    '/channels': async ({ query }) => {
      const asked = parsed(channelsQuery, query);
      return { state: asked.state, ...(await channelList(inspected, asked)) };
    },
    '/problems': () => problemList(inspected),
    '/refused': async () => ({ ...(await refusals(inspected)), kept: await quarantine(inspected) }),
    '/webhooks': () => webhooks(inspected),
    // Loaded when it is asked for: no start waits for what only developers use.
    ...(isDev && {
      '/send': async (...given) => (await import('./send-page.ts')).sendPage(inspected)(...given),
    }),
  };
  const form = express.urlencoded({ extended: false, limit: '16kb' });
  for (const [path, page] of Object.entries(pages)) {
    const show: RequestHandler = async (req, res) => {
      const at = path.split('/')[1];
      const [{ view = at || 'overview', ...data }, { dead, quarantined, subscribers: works }] =
        await Promise.all([page(req, res), store.reports.overview()]);
      const names = Object.keys(works).map((name) => name || 'main');
      const subscribers = names.length > 1 ? names : [];
      render(res, view, { nav: { at, dead, quarantined }, subscribers, now: clock.now(), ...data });
    };
    router.get(path, show);
    if (path === '/send') router.post(path, form, show);
  }
  for (const verb of ['replay', 'dismiss'] as const)
    router.post(`/events/${verb}`, form, changeMany(inspected, verb));
  // Forms ask endpoints, too, and the page that has the form comes again.
  for (const endpoint of endpointsOf(inspected).filter(({ method }) => method !== 'get'))
    router.post(endpoint.path, form, async (req, res) => {
      await answerTo(endpoint, res, log);
      res.redirect(303, req.get('Referer') ?? rootOf(req));
    });
  return router;
}
