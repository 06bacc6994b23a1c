import type { RequestHandler } from 'express';
import { z } from 'zod';
import { eventIdText } from '../api/filters.ts';
import type { Inspected } from '../api/lookups.ts';
import { event } from '../api/lookups.ts';
import { replayOne } from '../api/replays.ts';
import type { Page } from './page.ts';
import { readForm, readQuery } from './page.ts';

const path = z.object({ id: eventIdText });
const form = z.object({ reset_steps: z.literal('on').optional() });

/** One event with its attempts, steps and timeline. */
export function eventPage(inspected: Inspected): Page {
  return async (req) => {
    const { id } = readQuery(path, req.params);
    const found = await event(inspected, id);
    const canReplay = found.body !== null && (isOver(found.status) || found.next_attempt_at !== null);
    return {
      view: 'event',
      title: `${found.kind} ${found.resource}`,
      event: found,
      canReplay,
      payload: found.body === null ? undefined : pretty(found.body),
      replayed: req.query.replayed !== undefined,
    };
  };
}

export function replayEvent(inspected: Inspected): RequestHandler {
  return async (req, res) => {
    const { id } = readQuery(path, req.params);
    const { reset_steps: reset } = readForm(form, req);
    await replayOne(inspected, id, reset !== undefined);
    res.redirect(303, `/events/${id}?replayed=1`);
  };
}

function isOver(status: string): boolean {
  return status !== 'pending' && status !== 'running';
}

function pretty(body: string): string {
  return JSON.stringify(JSON.parse(body), null, 2);
}
