import { systemClock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import type { EventStore } from '../store/event-store.ts';
import { openStore } from '../store/open.ts';

/**
 * Opens the store that the configuration names, and closes it after the work. The server may run meanwhile.
 * @param threads whether the store works on threads of its own, so that other work goes on beside it
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function withStore<T>(
  config: Config,
  work: (store: EventStore) => Promise<T>,
  { threads = false } = {},
): Promise<T> {
  const store = await openStore({
    url: config.DATABASE_URL,
    clock: systemClock,
    secretsKey: config.SECRETS_KEY,
    threads,
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
