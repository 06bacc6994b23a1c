import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { IdList } from '../cli/events/handlers/id-list.ts';
import { Progress } from '../cli/events/progress-bar.ts';
import type { EventStore, Status, StoredEvent } from '../store/event-store.ts';
import { pause } from './pause.ts';
import type { ReportWriter } from './report-file.ts';

/** How an event can end. */
export const ENDS = ['handled', 'skipped', 'dead'] as const satisfies readonly Status[];
export type End = (typeof ENDS)[number];

export interface Waiting {
  readonly store: Pick<EventStore, 'eventsAfter' | 'events'>;
  readonly ids: IdList;
  readonly report: ReportWriter | undefined;
  readonly signal: AbortSignal;
  /** when to stop waiting, milliseconds since the epoch; undefined: never */
  readonly until: number | undefined;
}

/** How the events came out. */
export type Tally = ReadonlyMap<string, number>;

const POLL_MS = 100;
/** So long nothing at all runs although something is ready: then nobody is there to run it. */
const NOBODY_MS = 15_000;

/**
 * Waits until each of the events has ended, and writes down how. At the time limit, those that have not are written down
 * as they stand.
 * @throws KitError REPLAY_FAILED if nobody handles them
 */
export async function awaitEnds({ store, ids, report, signal, until = Infinity }: Waiting): Promise<Tally> {
  const tally = new Map<string, number>();
  const progress = new Progress({ verb: 'ended' });
  const watch = new Watch(store);
  let ended = 0;
  for (const page of ids.pages()) {
    const ends = new Map<string, StoredEvent>();
    let open = page;
    while (open.length > 0) {
      if (signal.aborted) return tally;
      const isLast = systemClock.now() >= until;
      const events = await store.eventsAfter({ ids: open }, undefined, open.length);
      const settled = isLast ? events : events.filter(hasEnded);
      for (const event of settled) {
        tally.set(event.status, (tally.get(event.status) ?? 0) + 1);
        ends.set(event.id, event);
      }
      ended += settled.length;
      progress.show(ended, ended / ids.length);
      open = isLast ? [] : open.filter((id) => !ends.has(id));
      await watch.check(events, settled.length > 0);
      if (open.length > 0) await pause(POLL_MS, signal);
    }
    // In the order of their event times, not in which they ended: two reports are to look alike.
    for (const id of page) {
      const event = ends.get(id);
      if (event) await report?.add(outcomeOf(event));
    }
  }
  progress.end();
  return tally;
}

function hasEnded({ status }: StoredEvent): boolean {
  return ENDS.some((end) => end === status);
}

function outcomeOf({ id, kind, resource, status, lastError }: StoredEvent) {
  return { id, kind, resource, outcome: status, reason: lastError };
}

/** Notices when nobody handles events. */
class Watch {
  readonly #store: Pick<EventStore, 'events'>;
  #quietSince = systemClock.now();
  #lookedAt = systemClock.now();

  constructor(store: Pick<EventStore, 'events'>) {
    this.#store = store;
  }

  async check(events: readonly StoredEvent[], somethingEnded: boolean): Promise<void> {
    const now = systemClock.now();
    const isReady = ({ status, nextAttemptAt = 0 }: StoredEvent) =>
      status === 'pending' && nextAttemptAt < now;
    if (somethingEnded || !events.some(isReady)) this.#quietSince = now;
    if (now - this.#lookedAt < NOBODY_MS / 5) return;
    this.#lookedAt = now;
    if ((await this.#store.events({ status: 'running' }, { limit: 1 })).length > 0) this.#quietSince = now;
    if (now - this.#quietSince < NOBODY_MS) return;
    throw new KitError(
      'REPLAY_FAILED',
      'the events are put back, but nobody handles them and no report was written: start the server, or use --run',
    );
  }
}
