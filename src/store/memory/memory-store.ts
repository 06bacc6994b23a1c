import type { Clock } from '../../base/clock.ts';
import { madeOnce } from '../../base/made-once.ts';
import { DriverStore, openVault, type Reads } from '../driver-store.ts';
import type { Scrubbed } from '../event-store.ts';
import type { InputOf, Operations, OutputOf, StoreLink } from '../link.ts';
import { copyOf, unavailable } from '../refusals.ts';
import { operations, type TableOperations } from '../semantics/operations.ts';
import { quarantineQueries } from '../semantics/quarantine.ts';
import { MemoryDatabase } from './database.ts';
import { queriesOf } from './readers.ts';

export { MemoryDatabase } from './database.ts';

export interface MemoryOptions {
  readonly clock: Clock;
  /** one that other instances have too, as processes share a file; without it, one of its own */
  readonly database?: MemoryDatabase | undefined;
}

/** The EventStore in memory, for tests: no file, no thread, and nothing is left of it when its process ends. */
export class MemoryStore extends DriverStore {
  readonly runs = 'here';

  constructor({ clock, database = new MemoryDatabase() }: MemoryOptions) {
    const { rows, tables } = database;
    const write = new MemoryLink<TableOperations>(database, boundTo(tables, operations));
    const read = new MemoryLink<Reads>(database, {
      ...queriesOf(rows),
      ...boundTo(tables, quarantineQueries),
    });
    const vault = madeOnce(() => openVault(write, database.key));
    super({ clock, write, read, vault, timeOfCommit: () => clock.now() });
  }

  async scrub(): Promise<Scrubbed> {
    return { toRewrite: 0, isLogInUse: false, backups: [] };
  }
}

/** Operations on tables, on these. */
function boundTo<T>(
  tables: T,
  given: Readonly<Record<string, (tables: T, input: never) => unknown>>,
): Operations {
  const bound = Object.entries(given).map(([name, operate]) => [name, operate.bind(undefined, tables)]);
  return Object.fromEntries(bound);
}

/** Does each request in a transaction. What goes in is copied at once, as for a store on a thread. */
class MemoryLink<O extends Operations> implements StoreLink<O> {
  readonly #database: MemoryDatabase;
  readonly #operations: Operations;
  #isClosed = false;

  constructor(database: MemoryDatabase, given: Operations) {
    this.#database = database;
    this.#operations = given;
  }

  async request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    if (this.#isClosed) throw unavailable('the store is closed');
    const copy = copyOf(name, input);
    const done = this.#database.transact(() => this.#operations[name]?.(copy as never));
    return done as Promise<OutputOf<O, N>>;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#database.idle();
  }
}
