import { randomUUID } from 'node:crypto';
import { within } from '../../base/clock.ts';
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
const PAGES = 50;

export interface Counted {
  readonly events: number;
  /** count on from this event; null if all were counted */
  readonly next: string | null;
}

/** How many events a bulk replay would reset. */
export async function countReplay(
  { store }: Pick<AdminNeeds, 'store'>,
  { filter, before }: Pick<BulkReplay, 'filter' | 'before'>,
): Promise<Counted> {
  let events = 0;
  let next: string | undefined = before;
  for (let page = 0; page < PAGES; page++) {
    const found = await store.searchOldest(filter, { after: next, limit: PAGE });
    events += found.events.filter(isReplayable).length;
    next = found.next;
    if (next === undefined) break;
  }
  return { events, next: next ?? null };
}

/** The input of a bulk replay. */
export interface BulkReplay {
  readonly filter: EventFilter;
  /** goes on where an earlier replay was cut short */
  readonly before: string | undefined;
  readonly resetSteps: boolean;
}

/** How far a bulk replay is. */
export interface Progress {
  readonly id: string;
  /** how many events it has reset so far */
  events: number;
  /** once it is over: where to go on, if it was cut short, and why it was */
  end?: { readonly next: string | null; readonly problem: string | undefined };
}

/** How many replays are remembered: a client may ask again for one that has ended. */
const REMEMBERED = 100;

/**
 * Bulk replays, one at a time. A replay goes on by itself, even if no client waits for it any more. A second request
 * with the same id gets the progress and starts no replay.
 */
export class BulkReplays {
  readonly #parts: Pick<AdminNeeds, 'store' | 'clock' | 'wake' | 'log'>;
  readonly #known = new Map<string, { readonly progress: Progress; readonly ended: Promise<void> }>();
  readonly #stop = new AbortController();

  constructor(parts: Pick<AdminNeeds, 'store' | 'clock' | 'wake' | 'log'>) {
    this.#parts = parts;
  }

  /** How far a replay is; undefined if this process does not know it. */
  find(id: string): Progress | undefined {
    return this.#known.get(id)?.progress;
  }

  /**
   * Starts a replay, unless one with this id is known, and waits for its end, at most `waitMs`.
   * @throws Refused 409 while another one is under way, 503 at a shutdown
   */
  async run(replay: BulkReplay, waitMs: number, id: string = randomUUID()): Promise<Progress> {
    const { progress, ended } = this.#known.get(id) ?? this.#start(id, replay);
    await within(this.#parts.clock, waitMs, ended);
    return progress;
  }

  /** Cuts the running replay short: the events that it has reset become ready. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#known.values()].map(({ ended }) => ended));
  }

  #start(id: string, replay: BulkReplay) {
    if (this.#stop.signal.aborted) throw new Refused(503, 'shutting down');
    const other = [...this.#known.values()].find(({ progress }) => !progress.end)?.progress;
    if (other) {
      const soFar = `it has reset ${other.events} events so far`;
      throw new Refused(409, `another replay is under way, and ${soFar}: ask again once it has ended`);
    }
    const progress: Progress = { id, events: 0 };
    const running = { progress, ended: this.#run(progress, replay) };
    this.#known.set(id, running);
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    return running;
  }

  async #run(progress: Progress, { filter, before: after, resetSteps }: BulkReplay): Promise<void> {
    const { store, wake, log } = this.#parts;
    const { signal } = this.#stop;
    let last = after ?? null;
    let problem: string | undefined;
    const onStep = (ids: readonly string[]) => {
      last = ids.at(-1) ?? last;
      progress.events += ids.length;
    };
    try {
      await store.replay(filter, { resetSteps, after, signal, onStep, onReady: wake });
      if (signal.aborted) problem = 'the service was stopped';
    } catch (error) {
      problem = messageOf(error);
    }
    progress.end = { problem, next: problem === undefined ? null : last };
    log.info({ replay: progress.id, events: progress.events, problem }, 'bulk replay ended');
    wake();
  }
}
