import { randomUUID } from 'node:crypto';
import { messageOf } from '../../base/errors.ts';
import type { AdminNeeds } from '../../observer.ts';
import { isReplayable } from '../../replay/sources.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { Refused } from '../guard/refuse.ts';

/** Resets one event to pending. */
export async function replayOne(
  { store, wake }: Pick<AdminNeeds, 'store' | 'wake'>,
  id: string,
  resetSteps: boolean,
): Promise<number> {
  const event = await store.event(id);
  if (!event) throw new Refused(404, 'there is no such event');
  if (event.body === undefined)
    throw new Refused(409, 'its body was removed by retention: it cannot run again');
  const { replayed } = await store.replay({ ids: [id] }, { resetSteps });
  if (replayed === 0) throw new Refused(409, `it is ${event.status} now: it runs without a replay`);
  wake();
  return replayed;
}

/** How many events one query of a count finds, and how many queries a count makes: so its request ends. */
const PAGE = 1000;
const PAGES = 10;

/** How many events a bulk replay would reset; `next` is the event from which to count on, null if all were counted. */
export async function countReplay(
  { store }: Pick<AdminNeeds, 'store'>,
  filter: EventFilter,
  before?: string,
): Promise<{ readonly events: number; readonly next: string | null }> {
  let events = 0;
  let next = before;
  for (let page = 0; page < PAGES; page++) {
    const found = await store.searchOldest(filter, { after: next, limit: PAGE });
    events += found.events.filter(isReplayable).length;
    next = found.next;
    if (next === undefined) break;
  }
  return { events, next: next ?? null };
}

export interface BulkReplay {
  readonly filter: EventFilter;
  /** goes on where an earlier replay was cut short */
  readonly before?: string | undefined;
  readonly resetSteps: boolean;
}

/** How far a bulk replay is. */
export interface Progress {
  readonly id: string;
  /** how many events it has reset so far */
  events: number;
  /** the last of them */
  last: string | undefined;
  /** why it was cut short */
  problem: string | undefined;
  isOver: boolean;
}

/** How many replays are remembered: a client may ask again for one that has ended. */
const REMEMBERED = 100;

/**
 * Bulk replays, one at a time. A replay goes on by itself, even if no client waits for it any more. A second request
 * with the same id gets the progress and starts no replay.
 */
export class BulkReplays {
  readonly #parts: Pick<AdminNeeds, 'store' | 'wake' | 'log'>;
  readonly #known = new Map<string, Progress>();
  readonly #stop = new AbortController();
  /** resolves once no replay is under way */
  idle = Promise.resolve();

  constructor(parts: Pick<AdminNeeds, 'store' | 'wake' | 'log'>) {
    this.#parts = parts;
  }

  /** How far a replay is; undefined if this process does not know it. */
  find(id: string): Progress | undefined {
    return this.#known.get(id);
  }

  /**
   * Starts a replay, unless one with this id is known.
   * @throws Refused 409 while another one is under way, 503 at a shutdown
   */
  start(replay: BulkReplay, id: string = randomUUID()): Progress {
    const known = this.#known.get(id);
    if (known) return known;
    if (this.#stop.signal.aborted) throw new Refused(503, 'shutting down');
    const other = [...this.#known.values()].find(({ isOver }) => !isOver);
    if (other) {
      const soFar = `it has reset ${other.events} events so far`;
      throw new Refused(409, `another replay is under way, and ${soFar}: ask again once it has ended`);
    }
    const [oldest] = this.#known.keys();
    if (this.#known.size >= REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    const progress = { id, events: 0, last: replay.before, problem: undefined, isOver: false };
    this.#known.set(id, progress);
    this.idle = this.#run(progress, replay);
    return progress;
  }

  /** Cuts the running replay short: the events that it has reset become ready. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.idle;
  }

  async #run(progress: Progress, { filter, before: after, resetSteps }: BulkReplay): Promise<void> {
    const { store, wake, log } = this.#parts;
    const { signal } = this.#stop;
    const onStep = (ids: readonly string[]) => {
      progress.last = ids.at(-1) ?? progress.last;
      progress.events += ids.length;
    };
    try {
      await store.replay(filter, { resetSteps, after, signal, onStep, onReady: wake });
      if (signal.aborted) progress.problem = 'the service was stopped';
    } catch (error) {
      progress.problem = messageOf(error);
    }
    progress.isOver = true;
    const { id, events, problem } = progress;
    log.info({ replay: id, events, problem }, 'bulk replay ended');
    wake();
  }
}
