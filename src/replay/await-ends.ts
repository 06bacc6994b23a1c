import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { pauseUntilAborted } from '../base/pause.ts';
import type { EventStore, Status, StoredEvent } from '../store/event-store.ts';
import type { Listener, Stage } from './replay-listener.ts';
import type { Report } from './report-file.ts';

/** How an event can end. */
export const ENDS = ['handled', 'skipped', 'dead'] as const satisfies readonly Status[];
export type End = (typeof ENDS)[number];

/** How many events ended with each status. */
export type Ends = ReadonlyMap<Status, number>;

export interface Waiting {
  readonly store: Pick<EventStore, 'searchOldest' | 'overview'>;
  readonly ids: IdList;
  readonly clock: Clock;
  readonly listener: Listener;
  readonly report: Report | undefined;
  readonly signal: AbortSignal;
  /** when to stop waiting, milliseconds since the epoch; Infinity: never */
  readonly until: number;
  /** called then, or once the signal is aborted, before the last look; more may end while it lasts */
  readonly onTimeUp?: (() => Promise<void>) | undefined;
}

const POLL_MS = 100;
/** If nothing at all runs for so long although something is ready, no process handles events. */
const NOBODY_MS = 15_000;

/**
 * Waits until each of the events has ended, and reports how. At the time limit it counts and reports the other events with the status
 * that they have then; so it does where the signal is aborted, if `onTimeUp` ends what runs.
 * @throws KitError REPLAY_FAILED if no process handles them
 */
export async function awaitEnds({ listener, ...waiting }: Waiting): Promise<Ends> {
  const stage = listener.begin('ended');
  try {
    return await countEnds(waiting, stage);
  } finally {
    stage.end();
  }
}

async function countEnds(
  { store, ids, clock, report, signal, until, onTimeUp }: Omit<Waiting, 'listener'>,
  stage: Stage,
): Promise<Ends> {
  const counts = new Map<Status, number>();
  const watch = new Watch(store, clock);
  let ended = 0;
  let isTimeUp = false;
  for (const page of ids.pages()) {
    const ends = new Map<string, StoredEvent>();
    let open = page;
    while (open.length > 0) {
      if (signal.aborted && !onTimeUp) return counts; // a server goes on: there is nothing to wait for
      if (!isTimeUp && (signal.aborted || clock.now() >= until)) {
        isTimeUp = true;
        await onTimeUp?.();
      }
      const isLast = isTimeUp;
      const { events } = await store.searchOldest({ ids: open }, { limit: open.length });
      const settled = isLast ? events : events.filter(hasEnded);
      for (const event of settled) {
        counts.set(event.status, (counts.get(event.status) ?? 0) + 1);
        ends.set(event.id, event);
      }
      ended += settled.length;
      stage.show(ended, ended / ids.length);
      open = isLast ? [] : open.filter((id) => !ends.has(id));
      await watch.check(events, settled.length > 0);
      if (open.length > 0) await pauseUntilAborted(clock, POLL_MS, signal);
    }
    // In the order of receipt, not of ends: so two reports look alike.
    for (const id of page) {
      const event = ends.get(id);
      if (event) await report?.add(outcomeOf(event));
    }
  }
  return counts;
}

function hasEnded({ status }: StoredEvent): boolean {
  return status !== 'pending' && status !== 'running';
}

function outcomeOf({ id, kind, resource, status, lastError }: StoredEvent) {
  return { id, kind, resource, outcome: status, reason: lastError };
}

/** Notices if no process handles events. */
class Watch {
  readonly #store: Pick<EventStore, 'overview'>;
  readonly #clock: Clock;
  #quietSince: number;
  #lookedAt: number;

  constructor(store: Pick<EventStore, 'overview'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#quietSince = clock.now();
    this.#lookedAt = clock.now();
  }

  async check(events: readonly StoredEvent[], somethingEnded: boolean): Promise<void> {
    const now = this.#clock.now();
    const isReady = ({ status, nextAttemptAt = 0 }: StoredEvent) =>
      status === 'pending' && nextAttemptAt < now;
    if (somethingEnded || !events.some(isReady)) this.#quietSince = now;
    if (now - this.#lookedAt < NOBODY_MS / 5) return;
    this.#lookedAt = now;
    if ((await this.#store.overview()).running > 0) this.#quietSince = now;
    if (now - this.#quietSince < NOBODY_MS) return;
    throw new KitError(
      'REPLAY_FAILED',
      'the events are reset to pending, but no server handles them, and no report was written: start the server, or use --run',
    );
  }
}

/** Many event ids in little memory: as text outside of the heap, 31 bytes each. */
export class IdList {
  readonly #pages: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(ids: readonly string[]): void {
    if (ids.length === 0) return;
    // Not of Node's pool: others use that up meanwhile, and each page would keep 64 KB of it.
    const text = ids.join('\n');
    const page = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
    page.write(text);
    this.#pages.push(page);
    this.#length += ids.length;
  }

  /** The ids, as many at a time as were added at a time. */
  *pages(): Generator<string[]> {
    for (const page of this.#pages) yield page.toString().split('\n');
  }
}
