import type { RequestHandler } from 'express';
import { z } from 'zod';
import { filterOf, filterShape } from '../api/filters.ts';
import { countReplay, MOST, replayAll } from '../api/replays.ts';
import type { Parts } from '../api/reports.ts';
import type { Page } from './pages.ts';
import { readQuery, textsOf } from './read-query.ts';
import { eventsPath } from './words.ts';

const query = z.object(filterShape);
const form = query.extend({ reset_steps: z.literal('on').optional() });
const filterNames = Object.keys(filterShape);

/** Says how many events a bulk replay would put back, before it happens. */
export function replayPage(parts: Parts): Page {
  return async (req) => {
    const counted = await countReplay(parts, {
      filter: filterOf(readQuery(query, req.query)),
      before: undefined,
    });
    const given = textsOf(req.query, filterNames);
    return { view: 'replay', title: 'Replay', ...counted, given, most: MOST, back: eventsPath(given) };
  };
}

export function replayMany(parts: Parts): RequestHandler {
  return async (req, res) => {
    const { reset_steps: reset, ...filters } = readQuery(form, req.body);
    const { events } = await replayAll(parts, {
      filter: filterOf(filters),
      before: undefined,
      resetSteps: reset !== undefined,
    });
    res.redirect(
      303,
      eventsPath({ ...textsOf(req.body, filterNames), status: undefined, replayed: String(events) }),
    );
  };
}
