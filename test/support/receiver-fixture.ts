import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receiver/app.ts';
import { Keyring } from '../../src/receiver/keyring.ts';
import type { EventStore, StoredEvent } from '../../src/store/event-store.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { SECRET, WEBHOOK } from './genuine.ts';
import { JumpingClock } from './jumping-clock.ts';
import { type LogLines, logLines } from './log-lines.ts';
import { present } from './only.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface ReceiverSetup {
  /** secrets stored from the start, by webhook; without it WEBHOOK has SECRET */
  readonly secrets?: Readonly<Record<string, readonly string[]>>;
  /** WEBHOOK_SECRET */
  readonly fallback?: string;
  readonly options?: Partial<Omit<ReceiverOptions, 'store' | 'keyring' | 'log'>>;
  /** what stands between the app and the real store */
  readonly wrap?: (store: EventStore) => EventStore;
}

/** The real app on a real database of its own. */
export interface ReceiverFixture {
  /** It listens already: supertest would have an app listen for each request anew. */
  readonly app: Server;
  readonly listener: RequestListener;
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly clock: JumpingClock;
  readonly log: LogLines;
  /** everything recorded, newest first */
  events(): Promise<readonly StoredEvent[]>;
  /** One more store on the same database, as another process has. */
  openAnother(): Promise<EventStore>;
}

type CleanUps = (() => Promise<void>)[];

const defaults = {
  webhookPath: '/webhooks/media',
  bodyLimit: 65_536,
  rejectLimit: 1000,
  quarantineMaxBytes: 1_000_000,
  maxWaitingAcks: 1000,
  linesASecond: 1_000_000, // a test looks for the line on each of its refusals
  trustProxy: 0,
  clock: systemClock,
  isDraining: () => false,
};

async function build(setup: ReceiverSetup, cleanUps: CleanUps): Promise<ReceiverFixture> {
  const { secrets = { [WEBHOOK]: [SECRET] }, fallback, options, wrap = (store) => store } = setup;
  const directory = await temporaryDirectory();
  cleanUps.push(() => rm(directory, { recursive: true }));
  const clock = new JumpingClock();
  const open = async () => {
    const opened = await SqliteStore.open({ path: join(directory, 'receiver.db'), clock, threads: false });
    cleanUps.push(() => opened.close());
    return opened;
  };
  const store = await open();
  for (const [webhook, values] of Object.entries(secrets)) {
    for (const secret of values) await store.addSecret(webhook, secret);
  }
  const wrapped = wrap(store);
  const keyring = new Keyring({ store: wrapped, clock, fallback });
  await keyring.refresh();
  const log = logLines();
  const listener = createReceiver({
    ...defaults,
    ...options,
    store: wrapped,
    keyring,
    log: log.log,
  });
  const app = createServer(listener).listen(0, '127.0.0.1');
  cleanUps.push(async () => {
    app.closeAllConnections();
    app.close();
  });
  await once(app, 'listening');
  const events = () => store.events({}, { limit: 1000 });
  return { app, listener, store, keyring, clock, log, events, openAnother: open };
}

async function runAll(cleanUps: CleanUps): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
}

/** Gives a function that starts receivers; what it started is closed and removed after each test. */
export function receiversForEachTest(): (setup?: ReceiverSetup) => Promise<ReceiverFixture> {
  const cleanUps: CleanUps = [];
  afterEach(() => runAll(cleanUps));
  return (setup = {}) => build(setup, cleanUps);
}

/** One receiver for all tests of a block, where they leave nothing behind. */
export function receiverForAllTests(setup: ReceiverSetup = {}): () => ReceiverFixture {
  const cleanUps: CleanUps = [];
  let fixture: ReceiverFixture | undefined;
  beforeAll(async () => {
    fixture = await build(setup, cleanUps);
  });
  afterAll(() => runAll(cleanUps));
  return () => present(fixture);
}

/** A store that does what another does, but for some of its methods. */
export function storeWith(store: EventStore, changes: Partial<EventStore>): EventStore {
  return new Proxy(store, {
    get(target, name) {
      const changed: unknown = Reflect.get(changes, name);
      if (changed !== undefined) return changed;
      const method: unknown = Reflect.get(target, name, target);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}
