import type { RequestHandler } from 'express';
import { z } from 'zod';
import { type Inspected, inputOf, parsed } from '../api/endpoint.ts';
import { event } from '../api/events.ts';
import { eventIdText } from '../api/filters.ts';
import { replayOne } from '../api/replays.ts';
import { type Page, rootOf } from './page.ts';

const path = z.object({ id: eventIdText });
const form = path.extend({ reset_steps: z.literal('on').optional() });

/** One event with its attempts, steps and timeline. */
export function eventPage(inspected: Inspected): Page {
  return async (req) => {
    const found = await event(inspected, parsed(path, req.params).id);
    const isOver = found.status !== 'pending' && found.status !== 'running';
    return {
      view: 'event',
      title: `${found.kind} ${found.resource}`,
      event: found,
      canReplay: found.body !== null && (isOver || found.next_attempt_at !== null),
      payload: found.body === null ? undefined : JSON.stringify(JSON.parse(found.body), null, 2),
      replayed: req.query.replayed !== undefined,
    };
  };
}

export function replayEvent(inspected: Inspected): RequestHandler {
  return async (req, res) => {
    const { id, reset_steps: reset } = inputOf(form, req);
    await replayOne(inspected, id, reset !== undefined);
    res.redirect(303, `${rootOf(req)}events/${id}?replayed=1`);
  };
}
