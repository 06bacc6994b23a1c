import { randomUUID } from 'node:crypto';
import { within } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { plural } from '../../base/text.ts';
import type { AdminNeeds } from '../../observer.ts';
import type { BulkOptions, EventFilter } from '../../store/event-store.ts';
import { bulkFilter } from '../../store/queue/lists/search.ts';
import { audited } from '../../store/reports/audit.ts';
import { RefusedError } from '../guard/refuse.ts';

export type Verb = 'replay' | 'dismiss';

/** A change of events that somebody asks for. */
export interface Change {
  readonly verb: Verb;
  /** the row that says so */
  readonly by: Parameters<typeof audited>[1];
  /** of a dismissal, which must have one */
  readonly reason?: string | undefined;
  /** of a replay */
  readonly reset_steps?: boolean | undefined;
}

/** Replays or dismisses what matches. @returns how many events it changed, and how many it left, as handlers run them */
function change({ store, wake }: AdminNeeds, filter: EventFilter, wanted: Change, options: BulkOptions = {}) {
  const { verb, by, reason = '', reset_steps: resetSteps } = wanted;
  const replay = () => store.queue.replay(filter, { ...options, resetSteps, onReady: wake });
  const dismiss = () => store.queue.dismiss(filter, reason, options);
  return audited(store, by, verb === 'replay' ? replay : dismiss, ({ events }) => events);
}

/** Replays or dismisses one event. @returns its id, and that one was changed */
export async function changeOne(parts: AdminNeeds, { id, ...wanted }: Change & { readonly id: string }) {
  const event = await parts.store.queue.event({ id });
  if (!event) throw new RefusedError(404, 'there is no such event');
  const isReplay = wanted.verb === 'replay';
  const filter = await bulkFilter(parts.store, wanted.verb, { ids: [id] });
  const { events } = await change(parts, filter, wanted);
  const why = isReplay
    ? 'it will run without a replay, or retention has removed its body'
    : 'only a pending or dead event can be dismissed';
  if (events === 0) throw new RefusedError(409, `the event is ${event.status} now: ${why}`);
  return isReplay ? { id, replayed: events } : { id, dismissed: events };
}

/** So that a page that counts comes within a moment: of some 20,000 events each. */
const STEPS = 5;

/** How many events a verb would change, of all or of the newest 100,000. */
export async function countFor(verb: Verb, { store }: AdminNeeds, filter: EventFilter) {
  const { replayable, dismissible, isAll } = await store.queue.tally(filter, STEPS);
  return { events: verb === 'replay' ? replayable : dismissible, isAll };
}

/** How far a verb for many events is. */
export interface Progress {
  readonly id: string;
  readonly verb: Verb;
  /** how many events it has changed so far */
  events: number;
  /** how many it has left out, as handlers run them */
  running: number;
  /** why it was cut short */
  problem: string | undefined;
  isOver: boolean;
}

/** How long a stop waits for it. */
const STOP_MS = 1000;

const NOUNS = { replay: 'replay', dismiss: 'dismissal' } as const;

export type BulkVerbs = ReturnType<typeof bulkVerbsOf>;

/**
 * Verbs for many events, one at a time. Each goes on by itself, even if no client waits for it any more. A second request
 * with the id of the latest gets its progress and starts nothing.
 */
export function bulkVerbsOf(parts: AdminNeeds) {
  let latest: Progress | undefined;
  const stopping = new AbortController();
  const { signal } = stopping;
  let idle = Promise.resolve();

  const run = async (progress: Progress, filter: EventFilter, wanted: Change): Promise<void> => {
    const onStep = (ids: readonly string[]) => {
      progress.events += ids.length;
    };
    try {
      const { left } = await change(parts, filter, wanted, { signal, onStep });
      progress.running = left;
      if (signal.aborted) progress.problem = 'the service was stopped';
    } catch (error) {
      progress.problem = messageOf(error);
    }
    progress.isOver = true;
    const { id, verb, events, running, problem } = progress;
    parts.log.info({ bulk: id, events, running, problem }, `bulk ${NOUNS[verb]} ended`);
    parts.wake();
  };

  return {
    /** how far one is; undefined if another has begun since */
    progress: (id: string) => (latest?.id === id ? latest : undefined),
    /** Resolves once none is under way. */
    idle: () => idle,

    /**
     * Starts one, unless the latest has this id.
     * @throws RefusedError 400 without the reason of a dismissal, 409 while another one is under way, 503 at a shutdown
     */
    start(filter: EventFilter, wanted: Change, id: string = randomUUID()): Progress {
      if (latest?.id === id) return latest;
      if (wanted.verb === 'dismiss' && !wanted.reason) throw new RefusedError(400, 'say why: reason');
      if (signal.aborted) throw new RefusedError(503, 'shutting down');
      if (latest && !latest.isOver) {
        const soFar = `another ${NOUNS[latest.verb]} is under way, with ${plural(latest.events, 'event')} so far`;
        throw new RefusedError(409, `${soFar}: ask again once it has ended`);
      }
      latest = { id, verb: wanted.verb, events: 0, running: 0, problem: undefined, isOver: false };
      idle = run(latest, filter, wanted);
      return latest;
    },

    /**
     * Cuts short what is under way: the events that a replay has reset become ready. What is not ready in time becomes so an hour later, as
     * after a crash.
     */
    async stop(): Promise<void> {
      stopping.abort();
      await within(parts.clock, STOP_MS, idle);
    },
  };
}
