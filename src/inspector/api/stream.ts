import type { RequestHandler, Response } from 'express';
import { repeat } from '../../base/clock.ts';
import type { Inspected } from './endpoint.ts';

/** How soon listeners hear of a change, also of what other processes did. */
const EVERY_MS = 1000;
/** After so many looks without a change, a line keeps connections open. */
const QUIET_LOOKS = 15;
/** Each listener has a connection; a browser has one for each open page. */
const MOST_LISTENERS = 100;
/** A reader that is this many bytes behind misses messages; the next message makes its page reload anyway. */
const MOST_BEHIND = 65_536;

/**
 * The live tail, as server-sent events. A page learns from it that something changed, and requests what it needs. It looks at the store
 * once a second while somebody listens.
 */
export function stream({ store, watch, clock }: Inspected): RequestHandler {
  const listeners = new Set<Response>();
  let seen: string | undefined;
  let quiet = 0;
  let stop = () => {};

  const tell = (text: string) => {
    for (const res of listeners) if (!res.writableEnded && res.writableLength < MOST_BEHIND) res.write(text);
  };
  const look = async (): Promise<number> => {
    // The newest event shows what came and was handled between two looks.
    const looks = Promise.all([store.overview(), store.search({}, { limit: 1, reach: 1 })]);
    const found = await looks.catch(() => undefined); // pages say themselves that the store cannot be reached
    if (!found) return EVERY_MS;
    const [{ pending, running, dead, quarantined }] = found;
    const now = JSON.stringify([found, watch.changes]);
    const hasChanged = seen !== undefined && seen !== now;
    seen = now;
    quiet = hasChanged ? 0 : quiet + 1;
    if (hasChanged)
      tell(`event: changes\ndata: ${JSON.stringify({ pending, running, dead, quarantined })}\n\n`);
    else if (quiet % QUIET_LOOKS === 0) tell(': still here\n\n');
    return EVERY_MS;
  };

  return (_req, res) => {
    if (listeners.size >= MOST_LISTENERS) {
      return void res.status(503).set('Retry-After', '30').json({ error: 'too many clients listen already' });
    }
    res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
    res.flushHeaders();
    res.write(': listening\n\n');
    listeners.add(res);
    if (listeners.size === 1) {
      seen = undefined;
      stop = repeat(clock, 0, look);
    }
    res.on('close', () => {
      listeners.delete(res);
      if (listeners.size === 0) stop();
    });
  };
}
