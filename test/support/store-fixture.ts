import { afterEach, beforeEach } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';

/** An empty database that lives for one test. */
export interface StoreFixture {
  readonly clock: VirtualClock;
  readonly store: EventStore;
  /** One more instance on the same database: what another process sees and does. */
  open(): Promise<EventStore>;
  /** Lets the second pass by which lists may lag behind what was recorded. */
  listed(): Promise<void>;
  /** Has the new database as `fill` leaves it. Only the first test that asks for this name fills it; the others get a copy. */
  filled(name: string, fill: () => Promise<unknown>): Promise<void>;
  /** Closes every instance and removes the database. */
  cleanUp(): Promise<void>;
}

/** Makes a fresh database whose stores take their time from `clock`. */
export type StoreFactory = (clock: VirtualClock) => Promise<StoreFixture>;

/** The fixture of the test that runs now. */
export type CurrentFixture = () => StoreFixture;

/** Gives every test of a block a database of its own. */
export function eachWithStore(factory: StoreFactory): CurrentFixture {
  let fixture: StoreFixture | undefined;
  beforeEach(async () => {
    fixture = await factory(new VirtualClock());
  });
  afterEach(async () => {
    await fixture?.cleanUp();
    fixture = undefined;
  });
  return () => {
    if (!fixture) throw new Error('the store is there only while a test runs');
    return fixture;
  };
}
