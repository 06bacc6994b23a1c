import { afterEach, beforeEach } from '@jest/globals';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Dispatcher, type DispatcherOptions } from '../../src/dispatch/dispatcher.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import type { EventId } from '../../src/store/event-id.ts';
import type { EventStore, StoredEvent, StoreRuns } from '../../src/store/event-store.ts';
import { type LogLines, logLines } from './log-lines.ts';
import { present } from './only.ts';
import type { StoreFactory, StoreFixture } from './store-fixture.ts';
import { verified } from './verified-notification.ts';
import { type WatchedStore, watch } from './watched-store.ts';

export const SEED = 7;
export const LEASE_MS = 30_000;
export const TIMEOUT_MS = 20_000;
export const BASE_MS = 1000;
export const CAP_MS = 10_000;
export const MAX_ATTEMPTS = 5;

/** A dispatcher under test, and the hold that a test has on its store. */
export interface StartedDispatcher extends Pick<WatchedStore, 'intercept' | 'loseAnswer'> {
  readonly dispatcher: Dispatcher;
}

/** What a test says of a dispatcher, and where its store says that it works. */
type Given = Partial<DispatcherOptions> & { readonly runs?: StoreRuns };

/** Dispatchers on one database, in virtual time. */
export interface DispatchStage {
  readonly clock: VirtualClock;
  /** to look at what the dispatchers did */
  readonly store: EventStore;
  /** what the dispatchers and their handlers logged under a message */
  readonly logged: LogLines['withMessage'];
  /** Starts a dispatcher and lets it claim; each but the first has a store instance of its own, as another process. */
  start(handlers: Handlers, given?: Given): Promise<StartedDispatcher>;
  /** Records an event of kind media_available, unless the members say otherwise. */
  record(members?: Parameters<typeof verified>[0]): Promise<EventId>;
  event(id: string): Promise<StoredEvent>;
  /** Lets time pass, timer by timer, so that what a timer sets off is done before the next one. */
  pass(ms: number): Promise<void>;
  /** Resolves when no dispatcher waits for its store. */
  quiet(): Promise<void>;
  /** Stops what runs; handlers that go on are left behind. */
  cleanUp(): Promise<void>;
}

function createStage(fixture: StoreFixture): DispatchStage {
  const { clock, store } = fixture;
  const { log, withMessage: logged } = logLines();
  const watched: WatchedStore[] = [];
  const dispatchers: Dispatcher[] = [];

  const quiet = async (): Promise<void> => {
    for (let calm = 0; calm < 3; calm++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!watched.every(({ isIdle }) => isIdle())) calm = -1;
    }
  };

  const pass = async (ms: number): Promise<void> => {
    const end = clock.now() + ms;
    await quiet();
    for (let due = clock.nextDue(); due !== undefined && due <= end; due = clock.nextDue()) {
      await clock.advance(Math.max(0, due - clock.now()));
      await quiet();
    }
    await clock.advance(end - clock.now());
  };

  const start = async (handlers: Handlers, { runs, ...given }: Given = {}) => {
    const mine = watch(dispatchers.length === 0 ? store : await fixture.open(), runs);
    const dispatcher = new Dispatcher({
      store: mine.store,
      handlers,
      clock,
      log,
      instance: 'test',
      concurrency: 16,
      handlerTimeoutMs: TIMEOUT_MS,
      leaseMs: LEASE_MS,
      retry: { maxAttempts: MAX_ATTEMPTS, baseMs: BASE_MS, capMs: CAP_MS, random: seededRandom(SEED) },
      ...given,
    });
    watched.push(mine);
    dispatchers.push(dispatcher);
    dispatcher.start();
    await quiet();
    return { dispatcher, intercept: mine.intercept, loseAnswer: mine.loseAnswer };
  };

  const cleanUp = async (): Promise<void> => {
    const stopped = Promise.allSettled(dispatchers.map((dispatcher) => dispatcher.stop(0)));
    await pass(10_000); // longer than a stop takes, whatever does not end
    await stopped;
    await fixture.cleanUp();
  };

  return {
    clock,
    store,
    logged,
    start,
    record: async (members) => (await store.record(verified(members))).id,
    event: async (id) => present(await store.event(id)),
    pass,
    quiet,
    cleanUp,
  };
}

/** Gives every test of a file a stage of its own. */
export function eachWithStage(factory: StoreFactory): () => DispatchStage {
  let stage: DispatchStage | undefined;
  beforeEach(async () => {
    stage = createStage(await factory(new VirtualClock()));
  });
  afterEach(() => stage?.cleanUp());
  return () => present(stage);
}
