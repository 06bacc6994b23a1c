import { type Db, type Dialect, insert } from '../dialect.ts';
import { inOrder } from './record.ts';

/** What a process counted in a minute: so many times it came to this result. */
export interface Stat {
  /** its begin, milliseconds since the epoch */
  readonly minute: number;
  readonly instance: string;
  /** of the event; empty where there is none */
  readonly kind: string;
  readonly result: string;
  readonly count: number;
  /** how long all of them took together, and the slowest one, milliseconds */
  readonly ms: number;
  readonly slowest: number;
}

/** Charts need an hour; the rest is for the queries of operators. */
const KEPT_MS = 8 * 86_400_000;

export function statsOperations(d: Dialect) {
  const key = 'minute, instance, kind, result';
  const add = insert(
    d,
    'stats',
    'minute bigint, instance text, kind text, result text, count bigint, ms double precision, slowest double precision',
    `ON CONFLICT (${key}) DO UPDATE SET count = stats.count + excluded.count, ms = stats.ms + excluded.ms,
      slowest = CASE WHEN excluded.slowest > stats.slowest THEN excluded.slowest ELSE stats.slowest END`,
  );
  return {
    /** Adds to what the same instances counted in the same minutes, and removes what is older than eight days. */
    async addStats(
      db: Db,
      { list, now }: { readonly list: readonly Stat[]; readonly now: number },
    ): Promise<void> {
      await db.each(add, inOrder(list, 'minute'));
      await db.all('DELETE FROM stats WHERE minute < $before', { before: now - KEPT_MS });
    },
  };
}
