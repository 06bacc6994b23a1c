import { relative } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { visibleLine } from '../base/visible.ts';
import { type Handlers, wrapHandlers } from '../dispatch/handler.ts';

/** Where a developer reads. */
export interface Reader {
  /** prints a text, with a line break after it */
  say(text: string): void;
}

/** The same handlers. What each of them did is told in a line; the log has a line for what fails. */
export function tellingEnds(handlers: Handlers, { say }: Reader): Handlers {
  return wrapHandlers(handlers, (handler, kind) => async (event, ctx) => {
    const began = systemClock.monotonic();
    const outcome = await handler(event, ctx);
    const ms = Math.round(systemClock.monotonic() - began);
    const own = Object.entries(event).filter(([name]) => name.endsWith('_id') && !OTHER_IDS.includes(name));
    const ids = own.map(([, id]) => String(id)).join(' ');
    if (outcome === undefined) say(visibleLine(`${kind} ${ids} handled in ${ms} ms`));
    return outcome;
  });
}

const OTHER_IDS = ['webhook_id', 'site_id'];

/** A path as a user would type it where the command runs. */
export function pathFrom(cwd: string, file: string): string {
  const path = relative(cwd, file);
  return path.startsWith('..') ? file : path;
}
