import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { EventStore } from '../store/event-store.ts';
import { openStore } from '../store/open.ts';

/**
 * Opens the store that the configuration names, for as long as a command works with it. The server may run meanwhile.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function withStore<T>(config: Config, work: (store: EventStore) => Promise<T>): Promise<T> {
  const store = await openStore({
    url: config.DATABASE_URL,
    clock: systemClock,
    secretsKey: config.SECRETS_KEY,
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
