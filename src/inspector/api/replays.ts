import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../base/errors.ts';
import { pauseUntilAborted, within } from '../../base/pause.ts';
import type { AdminNeeds } from '../../observer.ts';
import { isReplayable } from '../../replay/dry-run.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { Refused } from './endpoint.ts';

export type ReplayParts = Pick<AdminNeeds, 'store' | 'wake'>;

/** Resets one event to pending. */
export async function replayOne(
  { store, wake }: ReplayParts,
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
  { store }: Pick<ReplayParts, 'store'>,
  { filter, before }: { readonly filter: EventFilter; readonly before: string | undefined },
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
  readonly replay: BulkReplay;
  /** how many events it has reset so far */
  readonly events: number;
  readonly isOver: boolean;
  /** where to go on, if it was cut short */
  readonly next: string | null;
  /** why it was cut short */
  readonly problem: string | undefined;
}

/** Between two commits, so that acks do not wait for a replay. */
const PAUSE_MS = 5;
/** How many replays are remembered: a client may ask again for one that has ended. */
const REMEMBERED = 100;

/**
 * Bulk replays, one at a time. A replay goes on by itself, even if no client waits for it any more. A second request
 * with the same id gets the progress and starts no replay.
 */
export class BulkReplays {
  readonly #parts: Pick<AdminNeeds, 'store' | 'clock' | 'wake' | 'log'>;
  readonly #known = new Map<string, Running>();
  readonly #stop = new AbortController();
  #current: Running | undefined;

  constructor(parts: Pick<AdminNeeds, 'store' | 'clock' | 'wake' | 'log'>) {
    this.#parts = parts;
  }

  /** How far a replay is; undefined if this process does not know it. */
  find(id: string): Progress | undefined {
    return this.#known.get(id)?.progress;
  }

  /**
   * Starts a replay, unless one with this id is known or the same one is under way, and waits for its end, at most `waitMs`.
   * @throws Refused 409 while another one is under way, 503 at a shutdown
   */
  async run(replay: BulkReplay, waitMs: number, id: string = randomUUID()): Promise<Progress> {
    const running = this.#known.get(id) ?? this.#joined(replay) ?? this.#start(id, replay);
    await within(this.#parts.clock, waitMs, running.ended);
    return running.progress;
  }

  /** Cuts the running replay short: the events that it has reset become ready. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#current?.ended;
  }

  #joined(replay: BulkReplay): Running | undefined {
    const current = this.#current;
    if (current === undefined) return undefined;
    if (isDeepStrictEqual(current.progress.replay, replay)) return current;
    const soFar = `it has reset ${current.progress.events} events so far`;
    throw new Refused(409, `another replay is under way, and ${soFar}: ask again once it has ended`);
  }

  #start(id: string, replay: BulkReplay): Running {
    if (this.#stop.signal.aborted) throw new Refused(503, 'shutting down');
    const progress = { id, replay, events: 0, isOver: false, next: null, problem: undefined };
    const running: Running = { progress, ended: Promise.resolve() };
    running.ended = this.#reset(running).finally(() => {
      this.#current = undefined;
    });
    this.#current = running;
    this.#known.set(id, running);
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    return running;
  }

  async #reset(running: Running): Promise<void> {
    const { store, clock, wake, log } = this.#parts;
    const { filter, before, resetSteps } = running.progress.replay;
    let last = before;
    const end = (problem: string | undefined) => {
      const next = problem === undefined ? null : (last ?? null);
      running.progress = { ...running.progress, isOver: true, problem, next };
      const { id, events } = running.progress;
      log.info({ replay: id, events, problem }, 'bulk replay ended');
    };
    const { signal } = this.#stop;
    const rest = () => pauseUntilAborted(clock, PAUSE_MS, signal);
    try {
      await store.replay(filter, {
        resetSteps,
        after: before,
        signal,
        onStep(ids) {
          last = ids.at(-1) ?? last;
          running.progress = { ...running.progress, events: running.progress.events + ids.length };
          return rest();
        },
        onReady() {
          wake();
          return rest();
        },
      });
      end(signal.aborted ? 'the service was stopped' : undefined);
    } catch (error) {
      end(messageOf(error));
    }
    wake();
  }
}

interface Running {
  progress: Progress;
  ended: Promise<void>;
}
