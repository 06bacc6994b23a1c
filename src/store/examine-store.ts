import type { EventStore } from './event-store.ts';
import type { Settings } from './sqlite/operations/meta.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';

export { type Inspection, inspectDatabase } from './sqlite/inspect-database.ts';

/** The settings that the durability of a store rests on; undefined if it is not a SQLite database. */
export async function settingsOf(store: EventStore): Promise<Settings | undefined> {
  return store instanceof SqliteStore ? await store.settings() : undefined;
}
