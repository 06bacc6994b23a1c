import { type Db, one } from '../dialect.ts';
import type { Calls } from '../engine.ts';
import { erasedName } from '../stored.ts';

/** A change that somebody made by a command or on a page. Times are milliseconds since the epoch. */
export interface Change {
  readonly seq: number;
  readonly at: number;
  /** the command, or that of the same name */
  readonly what: string;
  /** what was meant, as JSON: ids that were erased are digests */
  readonly filters: string;
  /** who they say they are */
  readonly who: string;
  /** how many it changed; undefined while it is under way, or if it did not come to its end */
  readonly changed: number | undefined;
}

/** How long changes stay. */
const KEPT_MS = 365 * 86_400_000;

const ADD = `INSERT INTO audit (at, what, filters, who) VALUES ($now, $what, $filters, $who) RETURNING seq`;
const CHANGES = `SELECT seq, at, what, filters, who, changed FROM audit WHERE seq < coalesce($before, seq + 1)
  ORDER BY seq DESC LIMIT $limit`;
const HIDE = 'UPDATE audit SET filters = $hidden WHERE seq = $seq';

export const auditOperations = {
  /** Notes a change that begins, and forgets those of more than a year ago. @returns its seq */
  async changeBegan(db: Db, change: Pick<Change, 'what' | 'filters' | 'who'> & { readonly now: number }) {
    await db.all('DELETE FROM audit WHERE at < $before', { before: change.now - KEPT_MS });
    return one<Pick<Change, 'seq'>>(db, ADD, change);
  },

  changeEnded: (db: Db, change: Pick<Change, 'seq' | 'changed'>) =>
    db.all('UPDATE audit SET changed = $changed WHERE seq = $seq', change),

  /** Puts digests in the place of names of resources and sites, with and without the `media:` before them. */
  async hideErased(db: Db, { names }: { readonly names: readonly string[] }): Promise<void> {
    const texts = (name: string) => [name, name.replace(/^\w+:/, '')];
    const digests = new Map(names.flatMap((name) => texts(name).map((text) => [text, erasedName(name)])));
    for (const { seq, filters } of await db.all<Change>('SELECT seq, filters FROM audit')) {
      const hidden = JSON.stringify(JSON.parse(filters), (_, value) => digests.get(value) ?? value);
      if (hidden !== filters) await db.all(HIDE, { seq, hidden });
    }
  },
};

/** Changes, the last one first, before a seq. */
export const changes = (db: Db, page: { readonly before?: number | undefined; readonly limit: number }) =>
  db.all<Change>(CHANGES, page);

/** Makes a change, and notes who made it: what is meant at first, and how many it changed at its end. */
export async function audited<T>(
  { reports }: { readonly reports: Calls<typeof auditOperations> },
  { filters, ...by }: { readonly what: string; readonly filters: object; readonly who: string },
  work: () => Promise<T>,
  changedBy: (done: T) => number,
): Promise<T> {
  const { seq } = await reports.changeBegan({ ...by, filters: JSON.stringify(filters) });
  const done = await work();
  await reports.changeEnded({ seq, changed: changedBy(done) });
  return done;
}
