import { randomUUID } from 'node:crypto';
import express, { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { kindNames } from '../../notification/kinds.ts';
import { alike } from '../../store/queue/lists/problems.ts';
import { toReplay } from '../../store/queue/lists/search.ts';
import { STATUSES, WAITING } from '../../store/stored.ts';
import { answerTo, type Inspected, parsed } from '../api/endpoint.ts';
import { ENDPOINTS } from '../api/endpoints.ts';
import { event, eventIdText, events, filterIn, filterShape } from '../api/events.ts';
import { series } from '../api/stats.ts';
import { countFor, type Verb } from '../api/verbs.ts';
import { stats } from '../attention/attention.ts';
import { RefusedError } from '../guard/refuse.ts';
import { type Page, type Render, rootOf, textsOf } from './render.ts';
import { eventsPath, headlineOf } from './words.ts';

/** Every page, for people. Reading works without JavaScript, and so do forms. */
export function pagesRouter(inspected: Inspected, render: Render): Router {
  const router = Router();
  const { store, clock, isDev } = inspected;
  const form = express.urlencoded({ extended: false, limit: '16kb' });
  const show = (path: string, page: Page): RequestHandler => {
    const at = path.split('/')[1];
    return async (req, res) => {
      const [{ view = at || 'overview', ...data }, { dead, quarantined, subscribers: works }] =
        await Promise.all([page(inspected, req, res), store.reports.overview()]);
      const names = Object.keys(works).map((name) => name || 'main');
      const subscribers = names.length > 1 ? names : [];
      render(res, view, { nav: { at, dead, quarantined }, subscribers, now: clock.now(), ...data });
    };
  };
  for (const [path, page] of Object.entries(PAGES)) router.get(path, show(path, page));
  if (isDev) router.route('/send').all(form, show('/send', sendPage));
  // Forms ask endpoints, too, and the page that has the form comes again; that of a verb for many events then says how far it is.
  for (const endpoint of ENDPOINTS.filter(({ method }) => method !== 'get'))
    router.post(endpoint.path, form, async (req, res) => {
      await answerTo(endpoint, inspected, res);
      const page = req.query.id ? req.url.slice(req.path.length) : req.get('Referer');
      res.redirect(303, page ?? rootOf(req));
    });
  return router;
}

const LIMIT = 50;
const listQuery = z.object({
  ...filterShape,
  before: eventIdText.optional(),
  /** the place up to which the list was shown first: what comes later is counted, and moves no row */
  upto: z.coerce.number().int().min(0).optional(),
});
const filterNames = Object.keys(filterShape);

/** The list of events with its filters; or what is wrong with them, and then nothing is searched for. */
const eventsPage: Page = async (inspected, { query }, res) => {
  const shown = { given: textsOf(query, filterNames), statuses: STATUSES, waiting: WAITING, kindNames };
  const list = await listed(inspected, query).catch((error) => {
    if (!(error instanceof RefusedError)) throw error;
    res.status(error.status);
    return { mistake: error.message };
  });
  return { ...shown, ...list, schedules: await inspected.store.queue.schedules() };
};

async function listed(inspected: Inspected, query: object) {
  const { before, upto, ...filters } = parsed(listQuery, query);
  const { store } = inspected;
  const filter = filterIn(filters);
  const upTo = upto ?? (await store.queue.lastSeq());
  const [list, matching, fresh] = await Promise.all([
    events(inspected, { filter, after: before, limit: LIMIT, upTo }),
    store.queue.tally(filter, 1),
    store.queue.tally({ ...filter, newerThan: upTo }, 1),
  ]);
  // If the page is not full, there are more events to search, but not necessarily more that match.
  const isCutOff = list.next !== null && list.events.length < LIMIT;
  return { ...list, matching, fresh, filter, before, upTo, isCutOff };
}

/** One event with its attempts, steps and timeline. */
const eventPage: Page = async (inspected, req) => {
  const found = await event(inspected, parsed(z.object({ id: eventIdText }), req.params));
  const history = found.history.toReversed();
  const isOver = found.status !== 'pending' && found.status !== 'running';
  return {
    view: 'event',
    event: found,
    // Attempts that ended alike stand together, the last first: in ids, numbers and times their first lines may differ.
    attempts: [
      ...Map.groupBy(history, (one) => `${one.outcome} ${alike(headlineOf(one.error ?? ''))}`).values(),
    ],
    canReplay: found.body !== null && (isOver || found.next_attempt_at !== null),
    canDismiss: found.status === 'pending' || found.status === 'dead',
  };
};

const bulkQuery = z.object({ ...filterShape, id: z.uuid().optional() });

/** Shows how many events a verb would change, before it begins; or the progress of one that has begun. */
function bulkPage(verb: Verb): Page {
  return async (inspected, req) => {
    const texts = textsOf(req.query, filterNames);
    const { id, ...filters } = parsed(bulkQuery, req.query);
    const meant = verb === 'replay' ? toReplay(filterIn(filters)) : filterIn(filters);
    const given = { ...texts, ...(meant.waiting && { waiting: meant.waiting }) };
    const shown = { verb, title: verb === 'replay' ? 'Replay' : 'Dismiss', given, back: eventsPath(texts) };
    if (id !== undefined) return { view: 'progress', ...shown, progress: inspected.verbs.progress(id) };
    // The id makes one of a button that is pressed twice.
    return { view: 'bulk', ...shown, ...(await countFor(verb, inspected, meant)), id: randomUUID() };
  };
}

/** The answers of routes of the API to the query of the page, together. */
function answersOf(...paths: readonly string[]): Page {
  const asked = ENDPOINTS.filter(({ method, path }) => method === 'get' && paths.includes(path));
  return async (inspected, { query }, res) => {
    const answers = asked.map(({ input, run }) => run(inspected, parsed(input, query) as never, res));
    return Object.assign({ query }, ...(await Promise.all(answers)));
  };
}

const PAGES: Readonly<Record<string, Page>> = {
  '/': async (inspected) => {
    const { WEBHOOK_PATH: webhookPath } = inspected.config;
    return { stats: await stats(inspected), series: await series(inspected), webhookPath };
  },
  '/events': eventsPage,
  '/events/replay': bulkPage('replay'),
  '/events/dismiss': bulkPage('dismiss'),
  '/events/:id': eventPage,
  '/channels': answersOf('/channels'),
  '/problems': answersOf('/problems'),
  '/reminders': answersOf('/reminders', '/schedules'),
  '/refused': answersOf('/refusals', '/quarantine'),
  '/webhooks': answersOf('/webhooks'),
  '/changes': answersOf('/audit'),
};
/** Loaded when it is asked for: no start waits for what only developers use. */
const sendPage: Page = async (...given) => (await import('./send-page.ts')).sendPage(...given);
