import type { Snapshot } from '../api/stats.ts';
import { duration, plural, size } from '../pages/words.ts';
import type { Found } from './concern.ts';

const SLOW_COMMIT_MS = 250;
const NOT_RECORDED =
  'Nothing acknowledged is lost. The log says why: a full or stalled disk, a missing database, or an overload. Run `npx hookkit doctor`.';

/** Whether notifications can be recorded, and the place where they are kept is sound. */
export function keeping(snapshot: Snapshot): Found {
  const { cannot_record: problem, disk, last_10_minutes: recent, last_2_minutes: latest } = snapshot;
  const commit = recent.commit_ms.mean ?? 0;
  return [
    problem !== null && {
      fault: 'cannot_record',
      grave: true,
      text: `Nothing can be recorded: ${problem}`,
      advice: `Senders get 503. ${NOT_RECORDED}`,
      path: './#kept',
    },
    problem === null &&
      latest.not_recorded > 0 && {
        fault: 'not_recorded',
        grave: true,
        text: `${plural(recent.not_recorded, 'request was', 'requests were')} not recorded in the last 10 minutes`,
        advice: NOT_RECORDED,
        path: './#in',
      },
    disk.free_bytes !== null &&
      disk.room !== 'enough' && {
        fault: 'disk',
        grave: disk.room === 'none',
        text: `The disk of the database has ${size(disk.free_bytes)} left`,
        advice: 'When it is full, nothing can be recorded. Make room, or set RETENTION_DAYS.',
        path: './#kept',
      },
    commit > SLOW_COMMIT_MS && {
      fault: 'slow_commits',
      grave: true,
      text: `Commits took ${duration(commit)} on average in the last 10 minutes`,
      advice: 'Every ack waits for one: look at the disk.',
      path: './#kept',
    },
  ];
}
