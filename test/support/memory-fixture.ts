import { MemoryDatabase } from '../../src/store/memory/database.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { StoreFactory } from './store-fixture.ts';

/** Stores in memory. Another instance works on the same tables, as another process does on a file. */
export const memoryFixture: StoreFactory = async (clock) => {
  const database = new MemoryDatabase();
  const stores: MemoryStore[] = [];
  const open = async () => {
    const store = new MemoryStore({ clock, database });
    stores.push(store);
    return store;
  };
  return {
    clock,
    store: await open(),
    open,
    async listed() {
      await clock.advance(1000);
      await database.idle();
    },
    filled: async (_name, fill) => void (await fill()),
    cleanUp: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
};
