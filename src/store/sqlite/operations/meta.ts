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

/** Writes a page, as an empty commit goes well on a full disk too. */
export function ping(db: Database): () => void {
  const write = db.prepare(
    "INSERT INTO meta VALUES ('ping', '') ON CONFLICT (name) DO UPDATE SET value = ''",
  );
  return () => void write.run();
}

/** What the durability of a connection rests on. */
export interface Settings {
  /** 2 is FULL: a commit is on disk when it returns */
  readonly synchronous: number;
  readonly journalMode: string;
}

export function settings(db: Database): () => Settings {
  return () => ({
    synchronous: db.pragma('synchronous', { simple: true }) as number,
    journalMode: db.pragma('journal_mode', { simple: true }) as string,
  });
}
