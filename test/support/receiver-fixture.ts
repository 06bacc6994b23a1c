import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { type MonotonicClock, systemClock } from '../../src/base/clock.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { createReceiver, type Phase, type ReceiverParts } from '../../src/receiver/app.ts';
import { keyringOf } from '../../src/receiver/keyring.ts';
import { quarantineOf } from '../../src/receiver/quarantine.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { eventsIn } from './events-in.ts';
import { SECRET, WEBHOOK } from './genuine.ts';
import { logLines } from './log-lines.ts';
import { present } from './only.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface ReceiverSetup {
  /** secrets stored from the start, by webhook; without it WEBHOOK has SECRET */
  readonly secrets?: Readonly<Record<string, readonly string[]>>;
  /** settings, as in the environment */
  readonly env?: Readonly<Record<string, string>>;
  readonly phase?: Phase;
  /** of the app; the keyring has the fixture's */
  readonly clock?: MonotonicClock;
  readonly observer?: ReceiverParts['observer'];
  /** what stands between the app and the real store */
  readonly wrap?: (store: EventStore) => EventStore;
}

/** The real app on a real database of its own. */
export type ReceiverFixture = Awaited<ReturnType<typeof build>>;

/** A clock that jumps ahead as soon as anything waits for it, so that nothing waits in real time. Not for what polls. */
class JumpingClock extends VirtualClock {
  override after(ms: number, fn: () => unknown): () => void {
    const cancel = super.after(ms, fn);
    setImmediate(() => this.advance(ms));
    return cancel;
  }
}

type CleanUps = (() => Promise<void>)[];

async function build(setup: ReceiverSetup, cleanUps: CleanUps) {
  const { secrets = { [WEBHOOK]: [SECRET] }, env, phase = 'open', observer, wrap = (store) => store } = setup;
  const config = parseConfig({ HOST: '127.0.0.1', REJECT_LIMIT: '1000', ...env });
  const directory = await temporaryDirectory();
  const clock = new JumpingClock();
  const open = async () => {
    const url = `sqlite:${join(directory, 'receiver.db')}`;
    const opened = await openStore({ DATABASE_URL: url, clock, threads: false });
    cleanUps.push(() => opened.close());
    return opened;
  };
  const real = await open();
  for (const [webhook, values] of Object.entries(secrets))
    for (const secret of values) await real.secrets.add(webhook, secret);
  const store = wrap(real);
  const lines = logLines();
  const { log } = lines;
  const keyring = keyringOf({ store, clock, log, config });
  await keyring.refresh();
  const appClock = setup.clock ?? systemClock;
  const quarantine = quarantineOf({ store, clock: appClock, log, config }, keyring);
  const parts = { config, store, keyring, quarantine, clock: appClock, log, observer, phase: () => phase };
  const app = createServer(createReceiver(parts)).listen(0, '127.0.0.1');
  cleanUps.push(async () => {
    app.closeAllConnections();
    app.close();
    await quarantine.stop();
  });
  await once(app, 'listening');
  return {
    /** It listens already: supertest would have an app listen for each request anew. */
    app,
    store: real,
    keyring,
    quarantine,
    /** of the keyring and the store */
    clock,
    log: lines,
    /** everything recorded, newest first */
    events: () => eventsIn(real),
    /** One more store on the same database, as another process has. */
    openAnother: open,
  };
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
export function storeWith(store: EventStore, changes: Changes): EventStore {
  const { queue, quarantine, secrets, reports } = store;
  return {
    ...store,
    queue: { ...queue, ...changes.queue },
    quarantine: { ...quarantine, ...changes.quarantine },
    secrets: { ...secrets, ...changes.secrets },
    reports: { ...reports, ...changes.reports },
  };
}

/** What puts a store with other methods between the app and the real one. */
export const withStore = (changes: Changes): Pick<ReceiverSetup, 'wrap'> => ({
  wrap: (store) => storeWith(store, changes),
});

/** A store on which no clock of an instance is off, where a test sets its own ahead of PostgreSQL's. */
export function withOneClock(store: EventStore): EventStore {
  const instances = async () => (await store.reports.instances()).map((one) => ({ ...one, aheadMs: 0 }));
  return storeWith(store, { reports: { instances } });
}

type Changes = {
  readonly [Subject in 'queue' | 'quarantine' | 'secrets' | 'reports']?: Partial<EventStore[Subject]>;
};
