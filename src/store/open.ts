import type { Clock } from '../clock.ts';
import { KitError } from '../errors.ts';
import type { EventStore } from './event-store.ts';
import { SqliteStore } from './sqlite/store.ts';

export interface StoreOptions {
  /** `sqlite:PATH` */
  readonly url: string;
  readonly clock: Clock;
  /** 32 bytes */
  readonly secretsKey?: Buffer | undefined;
}

/**
 * Opens the store that a DATABASE_URL names.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export function openStore({ url, clock, secretsKey }: StoreOptions): Promise<EventStore> {
  if (url.startsWith('sqlite:'))
    return SqliteStore.open({ path: url.slice('sqlite:'.length), clock, secretsKey });
  throw new KitError('STORE_UNUSABLE', 'DATABASE_URL must begin with sqlite:');
}
