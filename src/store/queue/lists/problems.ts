import type { Db } from '../../dialect.ts';
import type { Problem } from './types.ts';

/** How many of the newest dead events, and of those that wait after a failure, are read. */
export const LOOKED_AT = 10_000;
/** The characters of an error's first line that count. */
const LONGEST = 200;

// The name of its media or channel is in most errors, and would make each error one of its own.
const NAME = "substr(resource, CASE WHEN resource LIKE 'channel:%' THEN 9 ELSE 7 END)";
const groups = (events: string) => `SELECT status, subscriber, kind, site_id, error, count(*) AS count,
    min(received_at) AS first_at, max(received_at) AS last_at, min(next_at) AS next_at,
    coalesce(min(CASE WHEN replays = 0 THEN seq END), min(seq)) AS seq
  FROM (SELECT status, subscriber, kind, site_id, replace(substr(last_error, 1, 400), ${NAME}, '*') AS error,
    received_at, next_at, replays, seq FROM events WHERE ${events} LIMIT ${LOOKED_AT}) e
  GROUP BY status, subscriber, kind, site_id, error`;
const DEAD = groups("status = 'dead' ORDER BY seq DESC");
const FAILED = `SELECT g.*, (SELECT min(a.started_at) FROM attempts a JOIN events f ON f.seq = a.event
    WHERE a.event = g.seq AND a.replay = f.replays AND a.outcome IN ('error', 'timeout', 'lost')) AS failed_since
  FROM (${groups("waiting = 'failed' ORDER BY seq DESC")}) g`;

/** With the seq of the oldest of its events: of one that was not replayed, if there is one. */
type Group = Problem & { readonly seq: number };

/** Queries of events that need attention. */
export const problemReads = {
  /** Dead events, and those that wait after a failure, in groups, the largest first. Those whose errors differ in ids, numbers and times only are one. */
  async problems(db: Db): Promise<Problem[]> {
    const rows = [...(await db.all<Group>(DEAD)), ...(await db.all<Group>(FAILED))];
    const told = rows.map((row) => ({ ...row, error: alike(row.error ?? '') }));
    const groups = Map.groupBy(told, ({ status, subscriber, kind, siteId, error }) =>
      JSON.stringify([status, subscriber, kind, siteId, error]),
    );
    const sum = (one: Group, other: Group): Group => ({
      ...(one.seq < other.seq ? one : other),
      count: one.count + other.count,
      firstAt: Math.min(one.firstAt, other.firstAt),
      lastAt: Math.max(one.lastAt, other.lastAt),
      nextAt: one.nextAt && other.nextAt && Math.min(one.nextAt, other.nextAt),
    });
    const sums = Array.from(groups.values(), (some) => some.reduce(sum));
    sums.sort((one, other) => other.count - one.count || other.lastAt - one.lastAt);
    return sums.map(({ seq: _, ...problem }) => problem);
  },
};

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
