import type { Db } from '../dialect.ts';

/** The schedule by which an app reconciles, and the name in its state under which the last pass is. */
export const RECONCILE = 'reconcile';
export const PASS = 'pass';

/** The last pass that looked for what never came. Times are milliseconds since the epoch. */
export interface Pass {
  readonly beganAt: number;
  /** what was expected since this time */
  readonly since: number;
  readonly expected: number;
  /** what had not come, by kind */
  readonly missing: Readonly<Record<string, number>>;
  /** how many of these wait in quarantine */
  readonly quarantined: number;
  /** whether they were recorded: not where they were more than `most` */
  readonly isRecorded: boolean;
  /** when the last pass began that recorded what was missing; undefined before the first */
  readonly wholeAt?: number | undefined;
}

const SQL = `SELECT value FROM state WHERE subscriber = '' AND resource = 'schedule:${RECONCILE}' AND name = '${PASS}'`;

/** The last pass of the schedule; undefined before the first. */
export async function lastPass(db: Db): Promise<Pass | undefined> {
  const [row] = await db.all<{ value: string }>(SQL);
  return row && JSON.parse(row.value);
}
