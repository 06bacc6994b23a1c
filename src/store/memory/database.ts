import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { messageOf } from '../../base/errors.ts';
import type { Awaitable, Tables } from '../driver.ts';
import { unavailable } from '../refusals.ts';
import { givenKey, type KeySource } from '../vault.ts';
import { eventTables } from './memory-tables.ts';
import { quarantineTables } from './quarantine-tables.ts';
import { Rows } from './rows.ts';
import { secretTables } from './secret-tables.ts';

/** A database in memory. It does one transaction at a time, each in a later turn of the event loop than it was asked for. */
export class MemoryDatabase {
  readonly rows = new Rows();
  readonly tables: Tables = {
    ...eventTables(this.rows),
    ...quarantineTables(this.rows),
    ...secretTables(this.rows),
  };
  /** of the secrets: a change of keys makes a new one, as for a key in a file */
  readonly key: KeySource = { ...givenKey(randomBytes(32)), isGiven: false };
  #last: Promise<unknown> = Promise.resolve();

  /** @throws KitError STORE_UNAVAILABLE if the work fails; then everything is as it was before */
  transact<T>(work: () => Awaitable<T>): Promise<T> {
    const done = this.#last.then(async () => {
      await setImmediate();
      try {
        return structuredClone(await work());
      } catch (error) {
        for (const undo of this.rows.undo.toReversed()) undo();
        throw unavailable(messageOf(error));
      } finally {
        this.rows.undo.length = 0;
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all is done that was asked for so far. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
