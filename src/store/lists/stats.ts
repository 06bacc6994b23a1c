import type { Db } from '../dialect.ts';

/** What all processes counted of one result, in one minute or of one kind. */
export interface Sum {
  /** the begin of the minute, or the kind */
  readonly name: number | string;
  readonly result: string;
  readonly count: number;
  readonly ms: number;
  readonly slowest: number;
}

export function statsReads() {
  return {
    /** Sums of what all processes have stored since a time, by minutes or kinds. */
    async stats(
      db: Db,
      { since, by }: { readonly since: number; readonly by: 'minute' | 'kind' },
    ): Promise<Sum[]> {
      const rows = await db.all<Sum>(
        `SELECT ${by} AS name, result, sum(count) AS count, sum(ms) AS ms, max(slowest) AS slowest
         FROM stats WHERE minute >= $since GROUP BY ${by}, result`,
        { since },
      );
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    },
  };
}
