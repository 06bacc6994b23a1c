import { randomUUID } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import { eventIdText, filterOf, filterShape } from '../api/filters.ts';
import type { Inspected } from '../api/lookups.ts';
import { countReplay, type Progress } from '../api/replays.ts';
import type { Page } from './page.ts';
import { readForm, readQuery, textsOf } from './page.ts';
import { eventsPath } from './words.ts';

const id = z.uuid();
const query = z.object({ ...filterShape, replay: id.optional() });
const form = z.object({
  ...filterShape,
  replay: id,
  before: eventIdText.optional(),
  reset_steps: z.literal('on').optional(),
});
const filterNames = Object.keys(filterShape);
/** The fields that a form sends again to go on. */
const formNames = [...filterNames, 'reset_steps'];

/** How long a press of the button waits for the end. */
const LONGEST_ANSWER_MS = 2000;
/** How often the page reloads to show the progress, in seconds. */
const REFRESH_S = 2;

/** Shows how many events a bulk replay would reset, before it begins; or the progress of one that has begun. */
export function replayPage(inspected: Inspected): Page {
  return async (req, res) => {
    const { replay, ...filters } = readQuery(query, req.query);
    const given = textsOf(req.query, formNames);
    const shown = { given, back: eventsPath(textsOf(req.query, filterNames)), replay: randomUUID() };
    if (replay === undefined) {
      const counted = await countReplay(inspected, { filter: filterOf(filters), before: undefined });
      return { view: 'replay', title: 'Replay', ...shown, ...counted };
    }
    const progress = inspected.replays.find(replay);
    if (progress && !progress.isOver) res.set('Refresh', String(REFRESH_S));
    return { view: 'replaying', title: 'Replay', ...shown, progress };
  };
}

export function replayMany(inspected: Inspected): RequestHandler {
  return async (req, res) => {
    const { reset_steps: reset, replay, before, ...filters } = readForm(form, req);
    const wanted = { filter: filterOf(filters), before, resetSteps: reset !== undefined };
    const progress = await inspected.replays.run(wanted, LONGEST_ANSWER_MS, replay);
    lead(res, progress, textsOf(req.body, formNames));
  };
}

/** Redirects to the list if all events are reset; else to the page that shows the progress, or how to go on. */
function lead(res: Response, { id: replay, isOver, problem }: Progress, given: Record<string, string>) {
  if (isOver && problem === undefined) {
    const { status: _past, reset_steps: _done, ...filters } = given;
    return res.redirect(303, eventsPath({ ...filters, replayed: replay }));
  }
  res.redirect(303, `/events/replay?${new URLSearchParams({ ...given, replay })}`);
}
