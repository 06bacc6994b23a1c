import type { Db } from '../../dialect.ts';
import type { Problem } from './types.ts';

/** How many of the newest dead events, and of those that wait, are read. */
export const LOOKED_AT = 10_000;
/** The characters of an error's first line that count. */
const LONGEST = 200;

// The name of its media or channel is in most errors, and would make each error one of its own.
const NAME = "substr(resource, CASE WHEN resource LIKE 'channel:%' THEN 9 ELSE 7 END)";
const groups = (
  events: string,
) => `SELECT status, kind, site_id, error, count(*) AS count, min(received_at) AS first_at,
    max(received_at) AS last_at, min(next_at) AS next_at
  FROM (SELECT status, kind, site_id, replace(substr(last_error, 1, 400), ${NAME}, '*') AS error, received_at, next_at
    FROM events WHERE ${events} LIMIT ${LOOKED_AT}) e
  GROUP BY status, kind, site_id, error`;
const DEAD = groups("status = 'dead' ORDER BY seq DESC");
const WAITING = groups(
  'held_by IS NULL AND next_at IS NOT NULL AND last_error IS NOT NULL ORDER BY held_by DESC, next_at DESC',
);

/** Dead events, and those that wait after a failure, in groups: the largest first. */
export async function problems(db: Db): Promise<Problem[]> {
  const rows = [...(await db.all<Problem>(DEAD)), ...(await db.all<Problem>(WAITING))];
  const found = new Map<string, Problem>();
  for (const row of rows) {
    const error = alike(row.error ?? '');
    const key = JSON.stringify([row.status, row.kind, row.siteId, error]);
    const count = Number(row.count);
    const one = found.get(key) ?? { ...row, error, count: 0 };
    found.set(key, {
      ...one,
      count: one.count + count,
      firstAt: Math.min(one.firstAt, row.firstAt),
      lastAt: Math.max(one.lastAt, row.lastAt),
      nextAt: row.nextAt === undefined ? undefined : Math.min(one.nextAt ?? row.nextAt, row.nextAt),
    });
  }
  return [...found.values()].toSorted((one, other) => other.count - one.count || other.lastAt - one.lastAt);
}

/** The status of an answer, such as 503, tells errors apart; 503 ms do not. */
const isStatus = (word: string, rest: string) => /^[45]\d\d\W*$/.test(word) && !/^ m?s\b/.test(rest);
/** So does the address that could not be reached, behind ECONNREFUSED or another such code. */
const isAddress = (word: string, before: string) => /:\d+$/.test(word) && /\bE[A-Z]{3,} $/.test(before);

/** The first line of an error with `*` for ids, numbers and times. */
export function alike(error: string): string {
  const [line = ''] = error.split('\n');
  const same = line.replaceAll(/[\w:.+-]+/g, (word, at: number) => {
    const tells = isStatus(word, line.slice(at + word.length)) || isAddress(word, line.slice(0, at));
    return /\d/.test(word) && !tells ? '*' : word;
  });
  return same.length > LONGEST || line.length >= 400 ? `${same.slice(0, LONGEST)}*` : same;
}
