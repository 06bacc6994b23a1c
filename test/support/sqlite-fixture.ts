import { copyFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import Driver from 'better-sqlite3';
import type { Clock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Database, keptBetweenTests } from './kept-database.ts';
import { size } from './sizes.ts';
import type { StoreFactory } from './store-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

type Kind = 'threads' | 'no threads';

/** SQLite stores on a real file: with threads as the service opens them, without as commands do. */
export function sqliteFixture(kind = size<Kind>({ small: 'no threads', full: 'threads' })): StoreFactory {
  return keptBetweenTests(async () => new SqliteFile(kind, await temporaryDirectory()));
}

class SqliteFile implements Database {
  readonly #kind: Kind;
  readonly #directory: string;
  readonly #path: string;

  constructor(kind: Kind, directory: string) {
    this.#kind = kind;
    this.#directory = directory;
    this.#path = join(directory, 'receiver.db');
  }

  open(clock: Clock): Promise<SqliteStore> {
    const timeOfCommit = () => clock.now();
    return SqliteStore.open({ path: this.#path, clock, timeOfCommit, threads: this.#kind === 'threads' });
  }

  copyTo(name: string): void {
    const db = new Driver(this.#path);
    db.exec(`VACUUM INTO '${this.#path}.${name}'`);
    db.close();
    copyFileSync(`${this.#path}.key`, `${this.#path}.${name}.key`);
  }

  makeAs(name: string): void {
    const db = new Driver(this.#path);
    db.exec(`ATTACH '${this.#path}.${name}' AS copy`);
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> 'sqlite_stat1'",
      )
      .pluck()
      .all();
    const changes = db.prepare("SELECT seq FROM cursors WHERE name = 'secrets'").pluck();
    db.transaction(() => {
      const before = Number(changes.get());
      for (const table of tables) db.exec(`DELETE FROM main.${table}`);
      for (const table of tables) {
        // Again, as triggers of the tables before it wrote into it.
        db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM copy.${table}`);
      }
      // It counts the changes of secrets, of which this is one: stores that are open go by it.
      db.prepare("UPDATE cursors SET seq = ? WHERE name = 'secrets'").run(before + 1);
    }).immediate();
    db.close();
    copyFileSync(`${this.#path}.${name}.key`, `${this.#path}.key`);
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }
}
