import type { Database } from 'better-sqlite3';

/** Reads the value under a name, storing `value` there first if there is none. */
export function metaOrSet(db: Database): (entry: { name: string; value: Uint8Array }) => Uint8Array {
  const set = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const get = meta(db);
  return ({ name, value }) => {
    set.run(name, Buffer.from(value));
    return get(name) ?? value;
  };
}

export function meta(db: Database): (name: string) => Uint8Array | undefined {
  const get = db.prepare<[string], Buffer>('SELECT value FROM meta WHERE name = ?').pluck();
  return (name) => get.get(name);
}

/**
 * Writes a page, since an empty commit succeeds even on a full disk. The value is another one each time: SQLite writes no
 * page for a row that gets the value that it has.
 */
export function ping(db: Database): () => void {
  const write = db.prepare(
    "INSERT INTO meta VALUES ('ping', randomblob(16)) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  );
  return () => void write.run();
}

/** The newest time at which an event was received or ended; undefined in an empty database. */
export function newestTime(db: Database): () => number | undefined {
  const received = db.prepare<[], number>('SELECT received_at FROM ledger ORDER BY seq DESC LIMIT 1').pluck();
  const ended = db
    .prepare<[], number | null>(
      'SELECT max(handled_at) FROM results WHERE handled_at IS NOT NULL AND has_body = 1',
    )
    .pluck();
  return () => {
    const times = [received.get(), ended.get()].filter((time) => typeof time === 'number');
    return times.length > 0 ? Math.max(...times) : undefined;
  };
}

/** The settings that make a connection durable. */
export interface Settings {
  /** 2 is FULL: a commit returns once it is on disk */
  readonly synchronous: number;
  readonly journalMode: string;
}

export function settings(db: Database): () => Settings {
  return () => ({
    synchronous: db.pragma('synchronous', { simple: true }) as number,
    journalMode: db.pragma('journal_mode', { simple: true }) as string,
  });
}
