import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { type Inspected, inputOf, parsed } from '../api/endpoint.ts';
import { eventIdText, filterOf, filterShape } from '../api/events.ts';
import { countReplay } from '../api/replays.ts';
import { type Page, rootOf, textsOf } from './render.ts';
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
    const { replay, ...filters } = parsed(query, req.query);
    const given = textsOf(req.query, formNames);
    const shown = { given, back: eventsPath(textsOf(req.query, filterNames)), replay: randomUUID() };
    if (replay === undefined) {
      const counted = await countReplay(inspected, { filter: filterOf(filters), before: undefined });
      return { view: 'replay', title: 'Replay', ...shown, ...counted };
    }
    const progress = inspected.replays.find(replay);
    if (progress && !progress.end) res.set('Refresh', String(REFRESH_S));
    return { view: 'replaying', title: 'Replay', ...shown, progress };
  };
}

export function replayMany(inspected: Inspected): RequestHandler {
  return async (req, res) => {
    const { reset_steps: reset, replay, before, ...filters } = inputOf(form, req);
    const wanted = { filter: filterOf(filters), before, resetSteps: reset !== undefined };
    const { end } = await inspected.replays.run(wanted, LONGEST_ANSWER_MS, replay);
    const { status, reset_steps: _done, ...given } = textsOf(req.body, formNames);
    // To the list once all events are reset; else to the page that shows the progress, or how to go on.
    const isDone = end && end.problem === undefined;
    const path = isDone
      ? eventsPath({ ...given, replayed: replay })
      : `events/replay?${new URLSearchParams({ ...textsOf(req.body, formNames), replay })}`;
    res.redirect(303, `${rootOf(req)}${path}`);
  };
}
