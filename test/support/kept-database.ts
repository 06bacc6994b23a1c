import { afterAll } from '@jest/globals';
import type { Clock } from '../../src/base/clock.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { unavailable } from '../../src/store/refusals.ts';
import type { StoreFactory, StoreFixture } from './store-fixture.ts';

/** A database whose stores stay open from one test to the next. */
export interface Database {
  open(clock: Clock): Promise<EventStore>;
  /** Keeps a copy of all that it holds. */
  copyTo(name: string): Promise<void> | void;
  /** Makes it hold what the copy holds. */
  makeAs(name: string): Promise<void> | void;
  remove(): Promise<void>;
}

/**
 * Gives each test a database as a new one is. To open stores takes longer than most tests, so the stores of a suite stay
 * open, and the database is made as new under them.
 */
export class KeptDatabase {
  readonly #database: Database;
  /** Nobody's: the stores take their time from that of the test. */
  #clock: Clock = new VirtualClock();
  #idle: EventStore[] = [];
  /** names of what tests fill it with */
  readonly #copies = new Set<string>();

  private constructor(database: Database) {
    this.#database = database;
  }

  static async of(database: Database): Promise<KeptDatabase> {
    const kept = new KeptDatabase(database);
    kept.#idle.push(await kept.#open());
    await database.copyTo('new');
    return kept;
  }

  async fixture(clock: VirtualClock): Promise<StoreFixture> {
    this.#clock = clock;
    const used = new Set<EventStore>();
    let isOver = false;
    const open = async () => {
      const store = this.#idle.pop() ?? (await this.#open());
      used.add(store);
      const close = () => {
        used.delete(store);
        return store.close();
      };
      // What a test has left running finds its store closed, and touches nothing of the next test.
      return new Proxy(store, {
        get(_, name) {
          if (isOver) return () => Promise.reject(unavailable('the test of this store is over'));
          if (name === 'close') return close;
          const member: unknown = Reflect.get(store, name);
          return typeof member === 'function' ? member.bind(store) : member;
        },
      });
    };
    const store = await open();
    const written = async () => {
      for (const one of used) await one.renew('nobody', 0);
    };
    const listed = async () => {
      await clock.advance(1000);
      await written();
    };
    const filled = async (name: string, fill: () => Promise<unknown>) => {
      if (this.#copies.has(name)) return this.#database.makeAs(name);
      await fill();
      await written();
      await this.#database.copyTo(name);
      this.#copies.add(name);
    };
    const cleanUp = async () => {
      isOver = true;
      // What is under way is written before the database is made as new.
      await listed();
      this.#idle.push(...used);
      await this.#database.makeAs('new');
    };
    return { clock, store, open, listed, filled, cleanUp };
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.map((one) => one.close()));
    await this.#database.remove();
  }

  #open(): Promise<EventStore> {
    return this.#database.open({
      now: () => this.#clock.now(),
      after: (ms, run) => this.#clock.after(ms, run),
    });
  }
}

/** A factory for the tests of one suite, whose database `make` makes for the first of them. */
export function keptBetweenTests(make: () => Promise<Database>): StoreFactory {
  let database: KeptDatabase | undefined;
  afterAll(() => database?.close());
  return async (clock) => {
    database ??= await KeptDatabase.of(await make());
    return database.fixture(clock);
  };
}
