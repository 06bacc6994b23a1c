import { type Clock, type MonotonicClock, systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { DriverStore, type DriverStoreParts, openStoreVault } from '../driver-store.ts';
import type { EventFilter, Scrubbed } from '../event-store.ts';
import { unavailable } from '../refusals.ts';
import { givenKey, NO_KEY } from '../vault.ts';
import { Database, DEFAULT_CONNECTIONS } from './database.ts';
import { DatabaseClock } from './database-clock.ts';
import { ReadLink, WriteLink } from './links.ts';
import { migrate } from './migrations.ts';
import { codeOf, MAY_USE, NO_RIGHT, reasonOf } from './reasons.ts';
import type { Session } from './session.ts';
import { ledgerTables } from './tables/ledger.ts';
import { dropIdleTriggers } from './tables/refused-writes.ts';
import { Tidying } from './tidying.ts';

export interface PostgresOptions {
  /** see `DatabaseOptions` */
  readonly url: string;
  readonly clock: MonotonicClock;
  /** gives the time in place of the server's clock, for tests */
  readonly timeOfDatabase?: Clock | undefined;
  /** 32 bytes; needed */
  readonly secretsKey?: Buffer | undefined;
  /** how many connections this process makes at most, 2 at least */
  readonly connections?: number | undefined;
  /** false: a command, which leaves the care of the tables to servers */
  readonly tidies?: boolean | undefined;
  /** whether a database in which there is nothing of ours is refused */
  readonly mustExist?: boolean | undefined;
  /** told how many milliseconds each commit took */
  readonly onCommit?: ((ms: number) => void) | undefined;
  /** told what only an administrator of the database can mend */
  readonly onTrouble?: ((what: string) => void) | undefined;
  /** shown by the server for each connection */
  readonly name?: string | undefined;
}

/** Of the connections so many are for readers: a third, one at least. */
const FOR_READERS = 1 / 3;

/** How long a reader waits for numbers that other transactions may still fill in, and how often it looks: a statement of ours ends after 15 s. */
const SETTLES_WITHIN_MS = 20_000;
const LOOKS_EVERY_MS = 50;
const UNSETTLED =
  'something may still add an event before others, so that a list would not be whole: for 20 s a transaction has been open that may (the doctor names those that have been open for long, under "snapshots"), or this role may only read and no receiver runs; try again';

interface PostgresParts extends DriverStoreParts {
  readonly write: WriteLink;
  readonly reader: Database;
  readonly writer: Database;
  readonly stop: () => void;
}

/** The EventStore on a PostgreSQL database, which any number of processes may work on. */
export class PostgresStore extends DriverStore {
  readonly runs = 'on a server';
  readonly #write: WriteLink;
  readonly #reader: Database;
  readonly #writer: Database;
  readonly #stop: () => void;

  private constructor({ reader, writer, stop, ...parts }: PostgresParts) {
    super(parts);
    this.#write = parts.write;
    this.#reader = reader;
    this.#writer = writer;
    this.#stop = stop;
  }

  /** @throws KitError CONFIG_INVALID if the URL has a mistake or the key is missing; STORE_UNUSABLE if the server cannot be reached, the database cannot be used, or the key does not fit */
  static async open({
    url,
    clock,
    timeOfDatabase,
    secretsKey,
    connections = DEFAULT_CONNECTIONS,
    tidies = true,
    mustExist = false,
    onCommit,
    onTrouble,
    name = 'hookkit',
  }: PostgresOptions): Promise<PostgresStore> {
    if (!secretsKey) throw new KitError('CONFIG_INVALID', NO_KEY);
    const forReaders = Math.max(1, Math.floor(connections * FOR_READERS));
    const writer = new Database({ url, connections: Math.max(1, connections - forReaders), name });
    const reader = new Database({ url, connections: forReaders, name });
    const databases = [reader, writer];
    try {
      await migrate(writer, clock, { mustExist });
      await dropIdleTriggers(writer);
      const time = timeOfDatabase ?? (await DatabaseClock.of(clock, writer.statements));
      const tidying = tidies ? new Tidying(writer, time, onTrouble) : undefined;
      const timed = async <T>(work: () => Promise<T>): Promise<T> => {
        const began = clock.monotonic();
        const done = await work();
        onCommit?.(clock.monotonic() - began);
        return done;
      };
      const asked = time instanceof DatabaseClock ? time : undefined;
      const write = new WriteLink(writer, clock, timed, asked);
      const vault = await openStoreVault(write, givenKey(secretsKey));
      await tidying?.start();
      const stop = () => {
        tidying?.stop();
        asked?.stop();
      };
      const links = { write, read: new ReadLink(reader), vault: async () => vault };
      return new PostgresStore({
        clock: time,
        ...links,
        timeOfCommit: () => time.now(),
        reader,
        writer,
        stop,
      });
    } catch (error) {
      await Promise.all(databases.map((database) => database.close()));
      if (error instanceof KitError) throw error;
      throw new KitError(
        'STORE_UNUSABLE',
        `cannot open the PostgreSQL database of DATABASE_URL: ${reasonOf(error)}`,
      );
    }
  }

  override async eventsAfter(filter: EventFilter, after: string | undefined, limit: number) {
    if (after === undefined && !filter.ids) await this.#untilSettled();
    return super.eventsAfter(filter, after, limit);
  }

  override async receivedAfter(filter: EventFilter, after: number | undefined, limit: number) {
    if (after === undefined && !filter.ids) await this.#untilSettled();
    return super.receivedAfter(filter, after, limit);
  }

  /**
   * Waits until readers in the order of numbers can go as far as the ledger is now. A number that was drawn and never used, as by a process that
   * was killed, is passed by taking what is behind it into work: where no receiver runs, nobody else does that.
   * @throws KitError STORE_UNAVAILABLE if a transaction stays open that may still add an event in between
   */
  async #untilSettled(): Promise<void> {
    const { lastPlace, settledPlace } = ledgerTables(this.#reader.statements);
    const last = await lastPlace();
    let settled = await settledPlace();
    for (let since = systemClock.monotonic(); settled < last; ) {
      // A role that may only read waits for a receiver to take.
      const isAll = await this.#write.request('take', undefined).catch(() => true);
      if (isAll) await pause(systemClock, LOOKS_EVERY_MS);
      const before = settled;
      settled = await settledPlace();
      const now = systemClock.monotonic();
      if (!isAll || settled > before) since = now;
      if (now - since >= SETTLES_WITHIN_MS) throw unavailable(UNSETTLED);
    }
  }

  /**
   * Secrets leave their table's file; logs and backups of the server keep them as long as they are kept.
   * @throws KitError STORE_UNAVAILABLE if the role may not rewrite the tables
   */
  async scrub(): Promise<Scrubbed> {
    for (const table of ['secrets', 'meta']) await rewrite(this.#writer.statements, table);
    return { toRewrite: 0, isLogInUse: false, backups: [] };
  }

  override async close(): Promise<void> {
    this.#stop();
    await super.close();
    await Promise.all([this.#reader.close(), this.#writer.close()]);
  }
}

/**
 * Gives a table a new file. VACUUM FULL does so too, but not in a transaction, and so without limits: while it waits for a table, whoever
 * reads the secrets waits behind it.
 */
async function rewrite(session: Session, table: string): Promise<void> {
  try {
    await session.rows(`CLUSTER hookkit.${table} USING ${table}_pkey`);
  } catch (error) {
    if (codeOf(error) === NO_RIGHT)
      throw unavailable(
        `only the owner of hookkit.${table} can rewrite it, and until then its file has what was deleted: ${MAY_USE}`,
      );
    throw unavailable(`hookkit.${table} keeps what was deleted in its file: ${reasonOf(error)}`);
  }
}

/** Opens the store as `StoreOptions` say. */
export function openPostgres({
  threads = true,
  tidies = threads,
  ...options
}: PostgresOptions & { readonly threads?: boolean | undefined }): Promise<PostgresStore> {
  return PostgresStore.open({ ...options, tidies });
}
