import { copyFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import Database from 'better-sqlite3';
import type { Clock } from '../../src/base/clock.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { unavailable } from '../../src/store/refusals.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { size } from './sizes.ts';
import type { StoreFactory } from './store-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

type Kind = 'threads' | 'no threads';

/**
 * SQLite stores on a real file: with threads as the service opens them, without as commands do. To start two threads takes
 * longer than most tests, so the stores of a suite stay open, and each test finds their one database as a new one is.
 */
export function sqliteFixture(kind = size<Kind>({ small: 'no threads', full: 'threads' })): StoreFactory {
  let database: KeptDatabase | undefined;
  afterAll(() => database?.close());
  return async (clock) => {
    database ??= await KeptDatabase.make(kind);
    return database.fixture(clock);
  };
}

class KeptDatabase {
  readonly #kind: Kind;
  readonly #directory: string;
  readonly #path: string;
  /** Nobody's: the stores take their time from that of the test. */
  #clock: Clock = new VirtualClock();
  #idle: SqliteStore[] = [];
  /** names of what tests fill it with, each in a file beside it */
  readonly #copies = new Set<string>();

  private constructor(kind: Kind, directory: string) {
    this.#kind = kind;
    this.#directory = directory;
    this.#path = join(directory, 'receiver.db');
  }

  static async make(kind: Kind): Promise<KeptDatabase> {
    const database = new KeptDatabase(kind, await temporaryDirectory());
    database.#idle.push(await database.#open());
    database.#copyTo('new');
    copyFileSync(`${database.#path}.key`, `${database.#path}.new.key`);
    return database;
  }

  async fixture(clock: VirtualClock): ReturnType<StoreFactory> {
    this.#clock = clock;
    const used = new Set<SqliteStore>();
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
      if (this.#copies.has(name)) return this.#makeAs(name);
      await fill();
      await written();
      this.#copyTo(name);
      this.#copies.add(name);
    };
    const cleanUp = async () => {
      isOver = true;
      // What is under way is written before the database is made as new.
      await listed();
      this.#idle.push(...used);
      this.#makeAs('new');
      copyFileSync(`${this.#path}.new.key`, `${this.#path}.key`);
    };
    return { clock, store, open, listed, filled, cleanUp };
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.map((one) => one.close()));
    await rm(this.#directory, { recursive: true });
  }

  #open(): Promise<SqliteStore> {
    const clock: Clock = {
      now: () => this.#clock.now(),
      after: (ms, run) => this.#clock.after(ms, run),
    };
    const timeOfCommit = () => this.#clock.now();
    return SqliteStore.open({ path: this.#path, clock, timeOfCommit, threads: this.#kind === 'threads' });
  }

  #copyTo(name: string): void {
    const db = new Database(this.#path);
    db.exec(`VACUUM INTO '${this.#path}.${name}'`);
    db.close();
  }

  #makeAs(name: string): void {
    const db = new Database(this.#path);
    db.exec(`ATTACH '${this.#path}.${name}' AS copy`);
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> 'sqlite_stat1'",
      )
      .pluck()
      .all();
    db.transaction(() => {
      for (const table of tables) db.exec(`DELETE FROM main.${table}`);
      for (const table of tables) {
        // Again, as triggers of the tables before it wrote into it.
        db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM copy.${table}`);
      }
    }).immediate();
    db.close();
  }
}
