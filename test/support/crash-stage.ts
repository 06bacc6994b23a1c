import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { jest } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { MemoryDatabase } from '../../src/store/memory/database.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import { Table } from '../../src/store/memory/table.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { tablesOf } from '../../src/store/sqlite/tables/index.ts';
import { DriverFaults } from './driver-faults.ts';
import { present } from './only.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The rows of each table. */
export type Contents = Readonly<Record<string, readonly unknown[]>>;

/** A database whose driver fails, and whose processes crash, when a test says so. */
export interface CrashStage {
  readonly clock: VirtualClock;
  readonly faults: DriverFaults;
  open(): Promise<EventStore>;
  /** Ends all processes without a word: what is open by then has no part in the database any more. */
  crash(): Promise<void>;
  /** Every row that is committed. */
  contents(): Contents | Promise<Contents>;
  /** Whether a claim takes what is new in the ledger in a commit of its own. */
  readonly takesApart?: boolean;
  /** what a rekey takes, where keys are given and not made */
  readonly newKey?: Buffer;
  cleanUp(): Promise<void>;
}

export type CrashStageFactory = () => Promise<CrashStage>;

export const memoryStage: CrashStageFactory = async () => {
  const clock = new VirtualClock();
  const faults = new DriverFaults();
  const database = new MemoryDatabase();
  faults.watch(database.tables);
  const stores: EventStore[] = [];
  const crash = async () => void (await Promise.all(stores.splice(0).map((store) => store.close())));
  return {
    clock,
    faults,
    async open() {
      const store = new MemoryStore({ clock, database });
      stores.push(store);
      return store;
    },
    crash,
    contents: () =>
      Object.fromEntries(
        Object.entries(database.rows)
          .filter(([, table]) => table instanceof Table)
          .map(([name, table]) => [
            name,
            table
              .all()
              .map((row: unknown) => JSON.stringify(row))
              .sort(),
          ]),
      ),
    cleanUp: crash,
  };
};

/** A real file. After a crash, the next process finds a copy of the files as the last commit left them. */
export const sqliteStage: CrashStageFactory = async () => {
  const clock = new VirtualClock();
  const faults = new DriverFaults();
  const directory = await temporaryDirectory();
  const stores: EventStore[] = [];
  const copies: string[] = [];
  let path = join(directory, 'receiver.db');
  let reader: ReturnType<typeof openReader> | undefined;
  return {
    clock,
    faults,
    async open() {
      const pragma = jest.spyOn(Database.prototype, 'pragma');
      try {
        const timeOfCommit = () => clock.now();
        stores.push(await SqliteStore.open({ path, clock, timeOfCommit, threads: false }));
        faults.watch(tablesOf(present(pragma.mock.contexts.find((context) => context instanceof Database))));
      } finally {
        pragma.mockRestore();
      }
      return present(stores.at(-1));
    },
    async crash() {
      const next = join(directory, `after-${copies.push(path)}`, 'receiver.db');
      mkdirSync(dirname(next));
      for (const end of ['', '-wal', '.key'])
        if (existsSync(path + end)) copyFileSync(path + end, next + end);
      path = next;
      reader?.close();
      reader = undefined;
      await Promise.all(stores.splice(0).map((store) => store.close()));
    },
    contents() {
      reader ??= openReader(path);
      return reader.contents();
    },
    async cleanUp() {
      reader?.close();
      await Promise.all(stores.map((store) => store.close()));
      rmSync(directory, { recursive: true });
    },
  };
};

/** Reads all tables of a file. */
function openReader(path: string) {
  const db = new Database(path, { readonly: true });
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all()
    .map((name) => ({ name, rows: db.prepare(`SELECT * FROM ${name}`).raw() }));
  return {
    contents: () => Object.fromEntries(tables.map(({ name, rows }) => [name, rows.all()])),
    close: () => void db.close(),
  };
}
