import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import type { RunningApp } from '../../src/dispatch/run-handler.ts';
import { type Dispatchers, dispatchersOf } from '../../src/dispatch/subscribers.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { logLines } from '../support/log-lines.ts';
import { present } from '../support/only.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

export const LEASE_MS = 30_000;
export const TIMEOUT_MS = 20_000;
const SETTINGS = {
  DISPATCH_CONCURRENCY: '16',
  HANDLER_TIMEOUT_MS: String(TIMEOUT_MS),
  LEASE_MS: String(LEASE_MS),
  RETRY_MAX_ATTEMPTS: '5',
  RETRY_CAP_MS: '10000',
};

type Method = keyof EventStore['queue'];

const NEVER = new Promise<never>(() => {});

/** A store whose calls a test can watch and make fail. */
function watch(watched: EventStore) {
  const before = new Map<PropertyKey, () => void>();
  let underWay = 0;
  let isDead = false;
  const queue = new Proxy(watched.queue, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function' || name === 'onRecorded') return method;
      return async (...given: never[]): Promise<unknown> => {
        if (isDead) return NEVER;
        underWay++;
        try {
          before.get(name)?.();
          return await Reflect.apply(method, target, given);
        } finally {
          underWay--;
        }
      };
    },
  });
  const store = { ...watched, queue };
  return {
    store,
    isIdle: () => underWay === 0,
    isDead: () => isDead,
    /** Its process says nothing to it any more. */
    die(): void {
      isDead = true;
    },
    /** Calls something, which may throw, before each call of a method. */
    intercept: (method: Method, first: () => void) => void before.set(method, first),
  };
}

/** Fails as a store does that does not answer. */
export function away(): never {
  throw new KitError('STORE_UNAVAILABLE', 'the database is locked');
}

/** Dispatchers on one database, in virtual time. */
async function createStage() {
  const folder = await temporaryDirectory();
  const clock = new VirtualClock();
  const open = () =>
    openStore({ DATABASE_URL: `sqlite:${join(folder, 'receiver.db')}`, clock, threads: false });
  const store = await open();
  const stores = [store];
  const { log, withMessage: logged } = logLines();
  const watched: ReturnType<typeof watch>[] = [];
  const dispatchers: Dispatchers[] = [];

  /** Resolves when no dispatcher waits for its store. */
  const quiet = async (): Promise<void> => {
    for (let calm = 0; calm < 3; calm++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!watched.every(({ isIdle }) => isIdle())) calm = -1;
    }
  };
  /** Lets time pass, timer by timer, so that what a timer sets off is done before the next one. */
  const pass = async (ms: number): Promise<void> => {
    const end = clock.now() + ms;
    await quiet();
    for (let due = clock.nextDue(); due !== undefined && due <= end; due = clock.nextDue()) {
      await clock.advance(Math.max(0, due - clock.now()));
      await quiet();
    }
    await clock.advance(end - clock.now());
  };
  /** Starts the dispatchers of an app on a store of their own, as another process, and lets them claim. */
  const start = async (
    handlers: Handlers,
    settings: Readonly<Record<string, string>> = {},
    app: Omit<RunningApp, 'handlers'> = {},
  ) => {
    const own = await open();
    stores.push(own);
    const mine = watch(own);
    const dispatcher = await dispatchersOf({
      config: parseConfig({ ...SETTINGS, ...settings }),
      app: { ...app, handlers },
      store: mine.store,
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after: (ms, fn) => clock.after(ms, () => (mine.isDead() ? undefined : fn())),
      },
      log,
      random: seededRandom(7),
    });
    watched.push(mine);
    dispatchers.push(dispatcher);
    dispatcher.start();
    await quiet();
    /** As when the process is killed: its timers are silent, and it says nothing to the store any more. */
    const kill = () => {
      mine.die();
      dispatchers.splice(dispatchers.indexOf(dispatcher), 1);
      watched.splice(watched.indexOf(mine), 1);
    };
    return { ...mine, dispatcher, kill };
  };
  /** Stops a dispatcher in virtual time. */
  const stop = async (dispatcher: Dispatchers, graceMs = 0): Promise<void> => {
    const stopped = dispatcher.stop(graceMs);
    stopped.catch(() => {}); // awaited below
    await pass(graceMs + 5000);
    await stopped;
  };
  return {
    clock,
    store,
    logged,
    start,
    /** Records an event of kind media_available, unless the members say otherwise; every dispatcher must find it. */
    record: async (members?: Parameters<typeof verified>[0]) =>
      (await store.queue.record(verified(members))).id,
    event: async (id: string) => present(await store.queue.event({ id })),
    outcomes: async (id: string) => (await store.queue.attempts({ id })).map(({ outcome }) => outcome),
    pass,
    quiet,
    stop,
    async cleanUp() {
      const stopped = Promise.allSettled(dispatchers.map((dispatcher) => dispatcher.stop(0)));
      await pass(10_000); // longer than a stop takes, whatever does not end
      await stopped;
      for (const one of stores) await one.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Gives every test of a file a stage of its own. */
export function eachWithStage() {
  let stage: Awaited<ReturnType<typeof createStage>> | undefined;
  beforeEach(async () => {
    stage = await createStage();
  });
  afterEach(() => stage?.cleanUp());
  return () => present(stage);
}
