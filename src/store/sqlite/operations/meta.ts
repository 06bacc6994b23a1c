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
