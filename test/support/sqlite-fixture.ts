import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SqliteOptions, SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { StoreFactory } from './store-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A SQLite store on a real file, as the service opens it. */
export const sqliteFixture = fixtureWith({});

/** The same without threads of its own, as commands open it. */
export const threadlessFixture = fixtureWith({ threads: false });

function fixtureWith(options: Pick<SqliteOptions, 'threads'>): StoreFactory {
  return async (clock) => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'receiver.db');
    const opened: SqliteStore[] = [];
    const open = async () => {
      const store = await SqliteStore.open({ path, clock, ...options });
      opened.push(store);
      return store;
    };
    const store = await open();
    const cleanUp = async () => {
      await Promise.all(opened.map((one) => one.close()));
      await rm(directory, { recursive: true });
    };
    return { clock, store, open, cleanUp };
  };
}
