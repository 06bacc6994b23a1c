import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { kindNames } from '../../notification/kinds.ts';
import { alike } from '../../store/queue/lists/problems.ts';
import { bulkFilter } from '../../store/queue/lists/search.ts';
import { STATUSES, toReplay, WAITING } from '../../store/stored.ts';
import { flag, type Inspected, inputOf, logDone, parsed } from '../api/endpoint.ts';
import { reasonText } from '../api/endpoints.ts';
import { event, eventIdText, events, filterIn, filterShape } from '../api/events.ts';
import { countFor, type Verb } from '../api/verbs.ts';
import { RefusedError } from '../guard/refuse.ts';
import { type Page, rootOf, textsOf } from './render.ts';
import { eventsPath, headlineOf } from './words.ts';

const LIMIT = 50;
const listQuery = z.object({
  ...filterShape,
  before: eventIdText.optional(),
  /** the place up to which the list was shown first: what comes later is counted, and moves no row */
  upto: z.coerce.number().int().min(0).optional(),
});
const filterNames = Object.keys(filterShape);

/** The list of events with its filters; or what is wrong with them, and then nothing is searched for. */
export function eventsPage(inspected: Inspected): Page {
  return async ({ query }, res) => {
    const shown = { given: textsOf(query, filterNames), statuses: STATUSES, waiting: WAITING, kindNames };
    try {
      return { ...shown, ...(await listed(inspected, query)) };
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      res.status(error.status);
      return { ...shown, mistake: error.message };
    }
  };
}

async function listed(inspected: Inspected, query: object) {
  const { before, upto, ...filters } = parsed(listQuery, query);
  const { store } = inspected;
  const filter = filterIn(filters);
  const upTo = upto ?? (await store.queue.lastSeq());
  const [list, matching, fresh] = await Promise.all([
    events(inspected, filter, { after: before, limit: LIMIT, upTo }),
    store.queue.tally(filter, 1),
    store.queue.tally({ ...filter, newerThan: upTo }, 1),
  ]);
  // If the page is not full, there are more events to search, but not necessarily more that match.
  const isCutOff = list.next !== null && list.events.length < LIMIT;
  return { ...list, matching, fresh, filter, before, upTo, isCutOff };
}

/** One event with its attempts, steps and timeline. */
export function eventPage(inspected: Inspected): Page {
  return async (req) => {
    const found = await event(inspected, parsed(z.object({ id: eventIdText }), req.params).id);
    const history = found.history.toReversed();
    const isOver = found.status !== 'pending' && found.status !== 'running';
    return {
      view: 'event',
      event: found,
      // Those that ended alike together, the last first: in ids, numbers and times their first lines may differ.
      attempts: [
        ...Map.groupBy(history, (one) => `${one.outcome} ${alike(headlineOf(one.error ?? ''))}`).values(),
      ],
      canReplay: found.body !== null && (isOver || found.next_attempt_at !== null),
      canDismiss: found.status === 'pending' || found.status === 'dead',
    };
  };
}

const bulkQuery = z.object({ ...filterShape, id: z.uuid().optional() });
const bulkForm = bulkQuery.extend({ id: z.uuid(), reset_steps: flag, reason: reasonText.optional() });

/** Shows how many events a verb would change, before it begins; or the progress of one that has begun. */
export function bulkPage(inspected: Inspected, verb: Verb): Page {
  return async (req) => {
    const texts = textsOf(req.query, filterNames);
    const given = verb === 'replay' ? toReplay(texts) : texts;
    const { id, ...filters } = parsed(bulkQuery, { ...req.query, ...given });
    const shown = { verb, title: verb === 'replay' ? 'Replay' : 'Dismiss', given, back: eventsPath(texts) };
    if (id !== undefined) return { view: 'progress', ...shown, progress: inspected.verbs.progress(id) };
    // The id makes one of a button that is pressed twice.
    const counted = await countFor(verb, inspected, filterIn(filters));
    return { view: 'bulk', ...shown, ...counted, id: randomUUID() };
  };
}

/** Begins what `bulkPage` has shown, and leads to its progress. */
export function changeMany(inspected: Inspected, verb: Verb): RequestHandler {
  return async (req, res) => {
    const { id, reset_steps: resetSteps, reason, ...filters } = inputOf(bulkForm, req);
    const filter = await bulkFilter(inspected.store, verb, filterIn(filters), filters.subscriber);
    inspected.verbs.start(filter, { verb, resetSteps, reason }, id);
    logDone(inspected.log, req, { id });
    const query = new URLSearchParams({ ...textsOf(req.body, filterNames), id });
    res.redirect(303, `${rootOf(req)}events/${verb}?${query}`);
  };
}
