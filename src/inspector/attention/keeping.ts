import type { Snapshot } from '../api/stats.ts';
import { duration, plural, size } from '../pages/words.ts';
import { type Found, since } from './concern.ts';

const SLOW_COMMIT_MS = 250;
/** The last minute with such a request, and half of one more. */
const SOON_OVER_MS = 90_000;
const NOT_RECORDED =
  'Nothing acknowledged is lost. The log says why: a full or stalled disk, a missing database, or an overload. Run `npx hookkit doctor`.';

/** Whether notifications can be recorded, and the place where they are kept is sound. */
export function keeping(snapshot: Snapshot, now: number): Found {
  const {
    cannot_record: problem,
    disk,
    last_10_minutes: recent,
    not_recorded_at: at,
    database_flaw: flaw,
  } = snapshot;
  const commit = recent.commit_ms.mean ?? 0;
  return [
    problem !== null && {
      fault: 'cannot_record',
      grave: true,
      text: `Nothing can be recorded: ${problem}`,
      advice:
        'Senders get 503, and may send again. `npx hookkit doctor` looks for the cause, and says what to do.',
      path: './#now',
    },
    problem === null &&
      at !== null &&
      since(at, now) < SOON_OVER_MS && {
        fault: 'not_recorded',
        grave: true,
        text: `${plural(recent.not_recorded, 'request was', 'requests were')} not recorded in the last 10 minutes, the last at ${at.slice(11, 16)} UTC`,
        advice: NOT_RECORDED,
        path: './#hour',
      },
    disk.free_bytes !== null &&
      disk.room !== 'enough' && {
        fault: 'disk',
        grave: disk.room === 'none',
        text: `The disk of the database has ${size(disk.free_bytes)} left`,
        advice: 'When it is full, nothing can be recorded. Make room, or set RETENTION_DAYS.',
        path: './#instances',
      },
    flaw !== null && { ...flaw, grave: flaw.fault === 'key_gone', path: './#instances' },
    commit > SLOW_COMMIT_MS && {
      fault: 'slow_commits',
      grave: true,
      text: `Commits took ${duration(commit)} on average in the last 10 minutes`,
      advice: 'Every ack waits for one: look at the disk.',
      path: './#hour',
    },
  ];
}
