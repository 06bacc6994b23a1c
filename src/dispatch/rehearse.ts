import type { Logger } from 'pino';
import { systemClock } from '../base/clock.ts';
import { keptAlive } from '../base/pause.ts';
import type { StatusesClient } from '../provider/index.ts';
import { type EventId, eventId } from '../store/event-id.ts';
import type { EventStore, StateChange, VerifiedNotification } from '../store/event-store.ts';
import type { Handlers } from './handler.ts';
import { type Assignment, type Run, runHandler } from './run-handler.ts';
import type { RunStore, StepResult } from './run-store.ts';

export interface RehearsalOptions {
  readonly handlers: Handlers;
  readonly log: Logger;
  readonly timeoutMs: number;
  readonly statuses: StatusesClient | undefined;
  /** the value of `ctx.app` */
  readonly app: unknown;
  /** the store with the results of earlier steps; undefined runs every step */
  readonly stored: Pick<EventStore, 'step'> | undefined;
  /** aborts `ctx.signal` */
  readonly signal: AbortSignal;
}

/** A step of `ctx.once`, and whether it ran or gave a stored result. */
export interface RehearsedStep {
  readonly name: string;
  readonly ran: boolean;
  /** how often the handler came to it; after the first time it got the first result */
  readonly times: number;
}

/** How the trial run of a handler ended. */
export interface Rehearsal {
  readonly run: Run;
  readonly ms: number;
  /** in the order in which the handler called them */
  readonly steps: readonly RehearsedStep[];
  /** what the dispatcher would store of `ctx.state` */
  readonly state: readonly StateChange[];
}

/** An event that nobody ever sent, as it would be received now, with no state of its resource. */
export function madeUpEvent(
  verified: VerifiedNotification,
  circumstances: Pick<Assignment, 'starts' | 'replays' | 'late'> = FIRST,
): Assignment {
  const id = eventId(verified.eventTime, verified.digest);
  return { ...verified, ...circumstances, id, receivedAt: systemClock.now(), state: [] };
}

const FIRST = { starts: 1, replays: 0, late: false };

/** Runs the handler for an event once, as the dispatcher does, and stores nothing. */
export async function rehearse(event: Assignment, options: RehearsalOptions): Promise<Rehearsal> {
  const { signal, stored, ...rest } = options;
  const abort = new AbortController();
  const pass = () => abort.abort(signal.reason);
  signal.addEventListener('abort', pass);
  const steps = new RehearsedSteps(event.id, stored);
  const began = systemClock.monotonic();
  try {
    const running = { ...rest, store: steps, clock: systemClock };
    const { state = [], ...run } = await keptAlive(() => runHandler(event, abort, running));
    return { run, ms: Math.round(systemClock.monotonic() - began), steps: steps.done, state };
  } finally {
    signal.removeEventListener('abort', pass);
  }
}

/** Keeps the results of steps for one run, and stores none of them. */
class RehearsedSteps implements RunStore {
  readonly #id: EventId;
  readonly #stored: Pick<EventStore, 'step'> | undefined;
  readonly #asked = new Map<string, number>();
  readonly #done = new Map<string, StepResult & { readonly ran: boolean }>();

  constructor(id: EventId, stored: Pick<EventStore, 'step'> | undefined) {
    this.#id = id;
    this.#stored = stored;
  }

  get done(): readonly RehearsedStep[] {
    return [...this.#done].map(([name, { ran }]) => ({ name, ran, times: this.#asked.get(name) ?? 0 }));
  }

  async step(name: string): Promise<StepResult | undefined> {
    this.#asked.set(name, 1 + (this.#asked.get(name) ?? 0));
    if (!this.#done.has(name)) {
      const before = await this.#stored?.step(this.#id, name);
      if (before) this.#done.set(name, { result: before.result, ran: false });
    }
    return this.#done.get(name);
  }

  async holds(): Promise<boolean> {
    return true;
  }

  async saveStep(name: string, result: string | null): Promise<StepResult> {
    this.#done.set(name, { result, ran: true });
    return { result };
  }
}
