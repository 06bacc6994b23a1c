import { AsyncResource } from 'node:async_hooks';
import { randomInt } from 'node:crypto';
import type { Dialect } from '../dialect.ts';
import { callsOf, type Engine, gathered, type StoreOptions } from '../engine.ts';
import type { BulkOptions, Claim, EventId, ReplayOptions, Settlement } from '../stored.ts';
import { claimOperations } from './claim.ts';
import { eraseOperations } from './erase.ts';
import { fanOutOperations } from './fan-out.ts';
import { named } from './lanes.ts';
import { eventReads } from './lists/events.ts';
import type { EventFilter } from './lists/search.ts';
import { pruneOperations } from './prune.ts';
import { type Arrival, type Recordable, recordOperations } from './record.ts';
import { reminderOperations } from './reminders.ts';
import { type Chosen, type Held, HOLD_MS, resetOperations, WAVE } from './reset.ts';
import { type Settling, settleOperations } from './settle.ts';
import { wakeOperations } from './wake.ts';

/** The operations that change events and their lanes. */
export const queueOperations = (d: Dialect) => ({
  ...recordOperations(d),
  ...claimOperations(d),
  ...settleOperations(d),
  ...wakeOperations(d),
  ...resetOperations(d),
  ...fanOutOperations(d),
  ...pruneOperations(d),
  ...eraseOperations(d),
  ...reminderOperations(d),
});

export interface Recorded {
  readonly status: 'accepted' | 'duplicate';
  readonly id: EventId;
}

type QueueReader = ReturnType<typeof queueReaderOn>;
export type Queue = ReturnType<typeof queueOn>;

/** The lists of events. */
export function queueReaderOn({ read }: Pick<Engine, 'read'>) {
  const calls = callsOf(eventReads, read);

  /**
   * Counts the events that match, newest first, and what verbs would make of them.
   * @param steps how many it takes, of some 20,000 events each; what it has then counted is all if `isAll`
   */
  const tally = async (filter: EventFilter, steps = Infinity) => {
    const sum = { events: 0, replayable: 0, underWay: 0, dismissible: 0, isAll: false };
    const stretch = (after: string | undefined) => calls.tallied({ filter, after });
    let left = steps;
    for await (const step of stepsFrom(undefined, stretch)) {
      for (const name of ['events', 'replayable', 'underWay', 'dismissible'] as const)
        sum[name] += step[name];
      sum.isAll = step.next === undefined;
      if (--left === 0) break;
    }
    return sum;
  };

  return {
    ...calls,
    tally,

    /** How many events match. It looks at all of them, in steps. */
    count: async (filter: EventFilter): Promise<number> => (await tally(filter)).events,

    /**
     * The events up to a `lastSeq`, in the order of receipt, a page at a time. No event that was there then is left out, however late a
     * transaction commits. Memory does not grow with the number of events.
     */
    async *received(filter: EventFilter, upTo: number) {
      const page = (after: number) => calls.receivedPage({ filter, after, limit: WAVE, upTo });
      for await (const { list } of stepsFrom(0, page)) if (list.length > 0) yield list;
    },
  };
}

/** The subject of an erasure: a resource, as `media:ID`, or a site. */
export type Erasure = Pick<EventFilter, 'resource' | 'site'>;

/** Events and their lanes, from record to prune. */
export function queueOn(engine: Engine, reader: QueueReader, { clock, onCommit = () => {} }: StoreOptions) {
  const calls = callsOf(queueOperations, engine.write);
  const record = gathered(async (list: readonly Arrival[]) => {
    const began = clock.monotonic();
    const isNew = await calls.record({ list });
    onCommit(clock.monotonic() - began);
    return isNew;
  });
  const ping = gathered((list: readonly undefined[]) => calls.ping().then(() => list));
  /** of each subscriber: what stands in the way of one holds up no other */
  const settling = new Map<string, ReturnType<typeof settlingOf>>();
  const settlingOf = AsyncResource.bind((subscriber: string) =>
    gathered((list: readonly Settling[]) => calls.settle({ list, subscriber })),
  );
  let tellRecorded = (): void => {};

  /** The events that match and are there now, of one subscriber after the other, each oldest first, 500 at a time. */
  async function* matching(filter: EventFilter, subscribers: readonly string[]) {
    // Not the last safe place: an ack under way may hold it back behind events that are there.
    const [newest] = (await reader.search({ limit: 1, reach: 1 })).events;
    const still = filter.waiting ?? filter.status;
    for (const subscriber of filter.subscriber === undefined ? subscribers : [filter.subscriber]) {
      const own = { ...filter, subscriber };
      const page = (after: string | undefined) =>
        reader.search({ filter: own, order: 'oldest', after, limit: WAVE, upTo: newest?.seq });
      for await (const { events } of stepsFrom(undefined, page))
        if (events.length > 0)
          yield { subscriber, still, events: events.map(({ seq, resource }) => ({ seq, resource })) };
    }
  }

  /** Does work in steps. @returns how many events they changed, and how many they left */
  const inSteps = async (
    found: AsyncIterable<Chosen>,
    { onStep, signal }: BulkOptions,
    work: Work<Chosen>,
  ) => {
    const sum = { events: 0, left: 0 };
    for await (const chosen of found) {
      if (signal?.aborted) break;
      const { ids, left } = await work(chosen);
      sum.events += ids.length;
      sum.left += left;
      await onStep?.(ids);
    }
    return sum;
  };

  /**
   * Does work for all that match, which holds the events, and makes them ready then, by event time. If the process ends in between, the events
   * that it did not release run an hour later.
   */
  const whileHeld = async (filter: EventFilter, options: ReplayOptions, work: Work<Chosen & Held>) => {
    // Nobody would run the events of one that was removed, unless it is asked for.
    const all = ['', ...(await reader.subscribers()).map(({ name }) => name)];
    const names = filter.subscriber ? [...all, filter.subscriber] : all;
    const heldBy = clock.now() + HOLD_MS + randomInt(60_000); // two replays of one moment keep apart
    try {
      return await inSteps(matching(filter, names), options, (chosen) => work({ ...chosen, heldBy }));
    } finally {
      // Also after an interruption: the sooner these events run, the fewer newer ones run before them.
      for (const subscriber of names)
        while ((await calls.release({ subscriber, heldBy })).length > 0) await options.onReady?.();
    }
  };

  /**
   * Ends pending and dead events for good, as a person says; a replay takes them up again. Running events are left out.
   * @param reason it becomes their error, as lists show it
   * @returns how many it changed, and how many are left that a handler runs
   */
  const dismiss = async (filter: EventFilter, reason: string, options: BulkOptions = {}) => {
    const names = await reader.subscriberNames();
    let events = 0;
    for (const status of filter.status ? [filter.status] : (['dead', 'pending'] as const)) {
      const found = matching({ ...filter, status }, names);
      const step = await inSteps(found, options, (chosen) => calls.dismiss({ ...chosen, reason }));
      events += step.events;
    }
    // At the end: some that were pending run by now, and some that ran are dismissed.
    const isMeant = filter.status === undefined || filter.status === 'running';
    return { events, left: isMeant ? await reader.count({ ...filter, status: 'running' }) : 0 };
  };

  return {
    ...reader,
    ...calls,
    dismiss,

    /** Has a function called for each new event that this process records. */
    onRecorded(listener: () => void): void {
      tellRecorded = listener;
    },

    /** This process has recorded a new event in another way than by `record`. */
    tellRecorded: () => tellRecorded(),

    /** Records a notification, or adds to the deliveries of the event that it repeats. What comes together shares a commit. */
    async record(notification: Recordable, receivedAt = clock.now()): Promise<Recorded> {
      const isNew = await record({ ...notification, receivedAt, deliveries: 1 });
      if (isNew) tellRecorded();
      return { status: isNew ? 'accepted' : 'duplicate', id: notification.id };
    },

    /** Ends a claim and records its start. What ends together shares a commit. */
    settle(claim: Claim, settlement: Settlement) {
      const { lease, subscriber, resource, seq, starts, replays } = claim;
      const settle = settling.get(subscriber) ?? settlingOf(subscriber);
      settling.set(subscriber, settle);
      return settle({ ...settlement, lease, resource, seq, starts, replays });
    },

    /** Opens a lane for each ready event without one (there should be none), and passes over a suspect that nobody claims. @returns how many lanes */
    async sweep(of: { readonly subscriber?: string } = {}): Promise<number> {
      await calls.passOver(of);
      let opened = 0;
      for await (const step of stepsFrom('', (after: string) => calls.openStrays({ ...of, after })))
        opened += step.opened;
      return opened;
    },

    /**
     * Resets handled, skipped, dead, dismissed and waiting events to `pending`, as if they had never run, but for `replays` and the results
     * of their steps; pruned events stay. None of them runs before all are reset, so that none is late because of a newer event that also
     * runs again. They run by event time. @returns how many it reset, and how many it left, as a handler runs them
     */
    replay: (filter: EventFilter, options: ReplayOptions = {}) =>
      whileHeld(filter, options, (held) => calls.reset({ ...held, resetSteps: options.resetSteps })),

    /**
     * Makes events of the past for a subscriber: of those that happened since a time, what it has not yet. They run by event time.
     * @returns how many it made, and how many it left, as retention has removed their bodies
     */
    startSubscriber: (subscriber: string, since: number, options: ReplayOptions = {}) =>
      whileHeld({ subscriber: '', since }, options, (held) => calls.makeHeld({ ...held, subscriber })),

    /** Removes a subscriber, and dismisses its pending events. @returns how many; undefined if it was not there */
    async removeSubscriber(subscriber: string): Promise<number | undefined> {
      const wasThere = await calls.unsubscribe({ subscriber });
      await calls.recover({ subscriber, held: [], maxAttempts: Infinity }); // as nobody else ends what a process ran that crashed
      const { events } = await dismiss({ subscriber, status: 'pending' }, 'its subscriber was removed');
      return wasThere || events > 0 ? events : undefined;
    },

    /**
     * Erases the events of a resource, or those of a site with all others of their resources, and what these have left. What handlers run is
     * left, and so are resources that also have events of other sites.
     * @param onStep told how many so far; the next commit waits for its promise
     * @returns how many, how many resources a handler runs, the names of those with other sites, and of all others
     */
    async erase({ resource, site }: Erasure, onStep?: (events: number) => unknown) {
      const sum = { events: 0, running: 0, shared: new Set<string>(), names: new Set<string>() };
      for (const subscriber of await reader.subscriberNames()) {
        const seen = new Set<string>();
        const pages = resource ? [{ events: [{ resource }] }] : matching({ site, subscriber }, []);
        for await (const { events } of pages) {
          const lanes = named(events.map((event) => event.resource).filter((name) => !seen.has(name)));
          const others = site === undefined ? [] : await reader.ofOtherSites({ lanes, site });
          for (const other of others) sum.shared.add(other.resource);
          const own = lanes.filter((lane) => !sum.shared.has(lane.resource));
          for (const lane of own) sum.names.add(lane.resource);
          for (const lane of lanes) seen.add(lane.resource);
          for (let hasMore = own.length > 0; hasMore; await onStep?.(sum.events)) {
            const step = await calls.erase({ subscriber, lanes: own, site });
            sum.events += step.events;
            hasMore = step.hasMore;
            if (!hasMore) sum.running += step.running;
          }
        }
      }
      return sum;
    },

    /** Resolves once a small write has committed that takes the table locks of an ack. What comes together shares it. */
    ping: () => ping(undefined),
  };
}

/** A step of a verb for many events. @returns those that it changed, and how many it left: a handler runs them, or their bodies are gone */
type Work<C> = (chosen: C) => Promise<{ readonly ids: readonly EventId[]; readonly left: number }>;

/** Yields pages; the last one is the one without a `next`. */
async function* stepsFrom<P, S extends { readonly next: P | undefined }>(
  start: NoInfer<P>,
  step: (from: P) => Promise<S>,
): AsyncGenerator<S> {
  let last = await step(start);
  for (yield last; last.next !== undefined; yield last) last = await step(last.next);
}
