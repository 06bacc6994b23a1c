import type { Database } from 'better-sqlite3';

/** Writes a page, as an empty commit goes well on a full disk too. */
export function ping(db: Database): () => void {
  const write = db.prepare(
    "INSERT INTO meta VALUES ('ping', '') ON CONFLICT (name) DO UPDATE SET value = ''",
  );
  return () => void write.run();
}
