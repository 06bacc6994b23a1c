import type { Database } from 'better-sqlite3';

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
