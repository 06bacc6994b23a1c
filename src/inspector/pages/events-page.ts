import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { z } from 'zod';
import { kindNames } from '../../notification/kinds.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { alike } from '../../store/lists/problems.ts';
import { isEventId, STATUSES } from '../../store/stored.ts';
import { flag, type Inspected, inputOf, logDone, parsed } from '../api/endpoint.ts';
import { reasonText } from '../api/endpoints.ts';
import { event, eventIdText, events, filterOf, filterShape, isRestricted } from '../api/events.ts';
import { countFor, type Verb } from '../api/verbs.ts';
import { Refused } from '../guard/refuse.ts';
import { type Page, rootOf, textsOf } from './render.ts';
import { eventsPath } from './words.ts';

const LIMIT = 50;
const NO_FILTER: EventFilter = {};
const query = z.object({
  ...filterShape,
  before: eventIdText.optional(),
  /** the place up to which the list was shown first: what comes later is counted, and moves no row */
  upto: z.coerce.number().int().min(0).optional(),
});
const filterNames = Object.keys(filterShape);

/** The list of events with its filters. */
export function eventsPage(inspected: Inspected): Page {
  const { store } = inspected;
  return async (req, res) => {
    const given = textsOf(req.query, filterNames);
    const { filter, before, upto, mistake } = asked(req);
    if (mistake !== undefined) res.status(400);
    const upTo = upto ?? (await store.lastSeq());
    const isSearched = mistake === undefined;
    const [list, matching, fresh, named] = await Promise.all([
      isSearched ? events(inspected, filter, { after: before, limit: LIMIT, upTo }) : NOTHING,
      isSearched ? store.tally(filter, 1) : undefined,
      upto !== undefined && isSearched ? store.tally({ ...filter, newerThan: upto }, 1) : undefined,
      namedBy(inspected, filter.q),
    ]);
    const isFirstPage = before === undefined;
    return {
      view: 'events',
      title: 'Events',
      ...list,
      matching,
      fresh: fresh?.events ?? 0,
      named,
      given,
      times: { since: filter.since, until: filter.until },
      statuses: STATUSES,
      kinds: new Set([...kindNames, ...list.events.map(({ kind }) => kind)]),
      mistake,
      isRestricted: isRestricted(filter),
      isEmptyStore: list.events.length === 0 && isFirstPage && !isRestricted(filter),
      isFirstPage,
      // If the page is not full, there are more events to search, but not necessarily more that match.
      isCutOff: list.next !== null && list.events.length < LIMIT,
      nextQuery: list.next === null ? undefined : new URLSearchParams({ ...given, before: list.next }),
      query: new URLSearchParams(given),
      again: eventsPath({ ...given, ...(before && { before }), upto: `${upTo}` }),
    };
  };
}

const NOTHING = { events: [], next: null };

/** What the query asks for; or what is wrong with it, and then nothing is searched for. */
function asked(req: Request) {
  try {
    const { before, upto, ...filters } = parsed(query, req.query);
    return { filter: filterOf(filters), before, upto, mistake: undefined };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { filter: NO_FILTER, before: undefined, upto: undefined, mistake: error.message };
  }
}

/** Finds the event, media or channel with the searched text as its id, however old it is. */
async function namedBy({ store }: Inspected, q: string | undefined) {
  if (q === undefined) return [];
  const found = isEventId(q) ? await store.event(q) : undefined;
  if (found) return [{ path: `events/${q}`, text: `Event ${q}` }];
  const resources = q.includes(':') ? [q] : [`media:${q}`, `channel:${q}`];
  const lists = await Promise.all(
    resources.map((resource) => store.search({ resource }, { limit: 1, reach: 1 })),
  );
  return resources
    .filter((_, index) => (lists[index]?.events.length ?? 0) > 0)
    .map((resource) => ({ path: eventsPath({ resource }), text: `All events of ${resource}` }));
}

const path = z.object({ id: eventIdText });

/** How many events of its media or channel the page of an event shows on either side of it. */
const NEAR = 5;

/** What alike errors have in common: all but the ids, numbers and times in their messages. */
const sameOf = (error: string | null) =>
  (error ?? '').replaceAll(/^.+$/gm, (line) => (/^\s+at /.test(line) ? line : alike(line)));

/** One event with its attempts, steps and timeline. */
export function eventPage(inspected: Inspected): Page {
  return async (req) => {
    const found = await event(inspected, parsed(path, req.params).id);
    const { history, timeline } = found;
    const place = timeline.findIndex(({ id }) => id === found.id);
    const isOver = found.status !== 'pending' && found.status !== 'running';
    return {
      view: 'event',
      title: `${found.kind} ${found.resource}`,
      event: found,
      neighbours: timeline.slice(Math.max(0, place - NEAR), place + NEAR + 1),
      // Those that ended alike together, the last first.
      attempts: [
        ...Map.groupBy(history.toReversed(), ({ outcome, error }) => `${outcome} ${sameOf(error)}`).values(),
      ],
      canReplay: found.body !== null && (isOver || found.next_attempt_at !== null),
      canDismiss: found.status === 'pending' || found.status === 'dead',
      payload: found.body === null ? undefined : JSON.stringify(JSON.parse(found.body), null, 2),
      replayed: req.query.replayed !== undefined,
    };
  };
}

const bulkQuery = z.object({ ...filterShape, id: z.uuid().optional() });
const bulkForm = z.object({
  ...filterShape,
  id: z.uuid(),
  reset_steps: flag,
  reason: reasonText.optional(),
});

/** Shows how many events a verb would change, before it begins; or the progress of one that has begun. */
export function bulkPage(inspected: Inspected, verb: Verb): Page {
  return async (req) => {
    const { id, ...filters } = parsed(bulkQuery, req.query);
    const given = textsOf(req.query, filterNames);
    const shown = { verb, title: verb === 'replay' ? 'Replay' : 'Dismiss', given, back: eventsPath(given) };
    if (id !== undefined) return { view: 'progress', ...shown, progress: inspected.verbs.known.get(id) };
    // The id makes one of a button that is pressed twice.
    const counted = await countFor(verb, inspected, filterOf(filters));
    return { view: 'bulk', ...shown, ...counted, id: randomUUID() };
  };
}

export function changeMany(inspected: Inspected, verb: Verb): RequestHandler {
  return (req, res) => {
    const { id, reset_steps: resetSteps, reason, ...filters } = inputOf(bulkForm, req);
    inspected.verbs.start(filterOf(filters), { verb, resetSteps, reason }, id);
    logDone(inspected.log, req, { id });
    const query = new URLSearchParams({ ...textsOf(req.body, filterNames), id });
    res.redirect(303, `${rootOf(req)}events/${verb}?${query}`);
  };
}
