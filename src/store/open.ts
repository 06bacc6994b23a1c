import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { EventStore } from './event-store.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';

export interface StoreOptions {
  /** `sqlite:PATH` */
  readonly url: string;
  readonly clock: Clock;
  /** 32 bytes */
  readonly secretsKey?: Buffer | undefined;
  /** false: no threads of its own; for commands that have nothing else to do meanwhile */
  readonly threads?: boolean | undefined;
  /** told how many milliseconds each commit took */
  readonly onCommit?: ((ms: number) => void) | undefined;
}

/**
 * Opens the store that a DATABASE_URL names.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export function openStore({ url, ...options }: StoreOptions): Promise<EventStore> {
  if (url.startsWith('sqlite:')) return SqliteStore.open({ path: url.slice('sqlite:'.length), ...options });
  throw new KitError('STORE_UNUSABLE', 'DATABASE_URL must begin with sqlite:');
}
