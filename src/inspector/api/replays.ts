import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../base/errors.ts';
import type { AdminParts } from '../../observer.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { Refused } from './endpoint.ts';

export type ReplayParts = Pick<AdminParts, 'store' | 'wake'>;

/** Puts one event back. */
export async function replayOne(
  { store, wake }: ReplayParts,
  id: string,
  resetSteps: boolean,
): Promise<number> {
  const event = await store.event(id);
  if (!event) throw new Refused(404, 'there is no such event');
  if (event.body === undefined)
    throw new Refused(409, 'its body was removed by retention: it cannot run again');
  const replayed = await store.replay({ ids: [id] }, { resetSteps });
  if (replayed === 0) throw new Refused(409, `it is ${event.status} now: it will run without being replayed`);
  wake();
  return replayed;
}

/** How many events one count looks at in a query, and in how many queries: so that its request ends. */
const REACH = 20_000;
const STRETCHES = 10;

export interface Counted {
  readonly events: number;
  /** what to go on before; null where all were looked at */
  readonly next: string | null;
}

/** How many events a bulk replay would put back. */
export async function countReplay(
  { store }: Pick<ReplayParts, 'store'>,
  { filter, before }: { readonly filter: EventFilter; readonly before: string | undefined },
): Promise<Counted> {
  let events = 0;
  let next: string | undefined = before;
  for (let stretch = 0; stretch < STRETCHES; stretch++) {
    const found = await store.replayable(filter, { before: next, reach: REACH, limit: REACH });
    events += found.ids.length;
    next = found.next;
    if (next === undefined) break;
  }
  return { events, next: next ?? null };
}

/** What is to be replayed. */
export interface BulkReplay {
  readonly filter: EventFilter;
  /** goes on where an earlier one was cut short */
  readonly before: string | undefined;
  readonly resetSteps: boolean;
}

/** How a bulk replay stands. */
export interface Progress {
  readonly id: string;
  readonly replay: BulkReplay;
  /** put back so far */
  readonly events: number;
  readonly isOver: boolean;
  /** what to go on before, where it was cut short */
  readonly next: string | null;
  /** why it was cut short */
  readonly problem: string | undefined;
}

/** Between two commits, so that acks do not wait for a replay. */
const PAUSE_MS = 5;
/** So many are remembered: somebody may ask again for what has ended. */
const REMEMBERED = 100;

/**
 * The replays of everything that matches, one at a time. Each goes on by itself, however many events it takes and
 * whoever stops waiting for it; asked for again by the same id, it is told and not repeated.
 */
export class BulkReplays {
  readonly #parts: Pick<AdminParts, 'store' | 'clock' | 'wake' | 'log'>;
  readonly #known = new Map<string, Running>();
  readonly #stop = new AbortController();
  #current: Running | undefined;

  constructor(parts: Pick<AdminParts, 'store' | 'clock' | 'wake' | 'log'>) {
    this.#parts = parts;
  }

  /** How a replay stands; undefined where this process has not done it. */
  find(id: string): Progress | undefined {
    return this.#known.get(id)?.progress;
  }

  /**
   * Starts a replay, unless one by this id is known or just the same is under way; waits for its end, but not longer
   * than `waitMs`.
   * @throws Refused 409 while another one is under way, 503 at a shutdown
   */
  async run(replay: BulkReplay, waitMs: number, id: string = randomUUID()): Promise<Progress> {
    const running = this.#known.get(id) ?? this.#joined(replay) ?? this.#start(id, replay);
    const { clock } = this.#parts;
    let cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      cancel = clock.after(waitMs, resolve);
    });
    await Promise.race([running.ended, waited]);
    cancel();
    return running.progress;
  }

  /** Cuts short what is under way: what it has put back is made ready. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#current?.ended;
  }

  #joined(replay: BulkReplay): Running | undefined {
    const current = this.#current;
    if (current === undefined) return undefined;
    if (isDeepStrictEqual(current.progress.replay, replay)) return current;
    const soFar = `it has put back ${current.progress.events} events so far`;
    throw new Refused(409, `another replay is under way, and ${soFar}: ask again once it has ended`);
  }

  #start(id: string, replay: BulkReplay): Running {
    if (this.#stop.signal.aborted) throw new Refused(503, 'shutting down');
    const progress = { id, replay, events: 0, isOver: false, next: null, problem: undefined };
    const running: Running = { progress, ended: Promise.resolve() };
    running.ended = this.#putBack(running).finally(() => {
      this.#current = undefined;
    });
    this.#current = running;
    this.#known.set(id, running);
    const [oldest] = this.#known.keys();
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    return running;
  }

  async #putBack(running: Running): Promise<void> {
    const { store, wake, log } = this.#parts;
    const { filter, before, resetSteps } = running.progress.replay;
    let last = before;
    let isCut = false;
    const end = (problem: string | undefined) => {
      const next = problem === undefined ? null : (last ?? null);
      running.progress = { ...running.progress, isOver: true, problem, next };
      const { id, events } = running.progress;
      log.info({ replay: id, events, problem }, 'bulk replay ended');
    };
    try {
      await store.replay(filter, {
        resetSteps,
        after: before,
        signal: this.#stop.signal,
        onStep: (ids) => {
          last = ids.at(-1) ?? last;
          running.progress = { ...running.progress, events: running.progress.events + ids.length };
          return this.#pause();
        },
        onHeld: () => {
          isCut = this.#stop.signal.aborted;
        },
        onReady: () => {
          wake();
          return this.#pause();
        },
      });
      end(isCut ? 'the service was stopped' : undefined);
    } catch (error) {
      end(messageOf(error));
    }
    wake();
  }

  #pause(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#parts.clock.after(PAUSE_MS, resolve);
    });
  }
}

interface Running {
  progress: Progress;
  ended: Promise<void>;
}
