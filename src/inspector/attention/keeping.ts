import type { Known } from '../api/stats.ts';
import { duration, plural, size } from '../pages/words.ts';
import type { Found } from './concern.ts';

const SLOW_COMMIT_MS = 250;
/** The last minute with such a request, and half of one more. */
const SOON_OVER_MS = 90_000;

/** Whether notifications can be recorded, and the place where they are kept is sound. */
export function keeping({ now, problem, disk, recent, latest, notRecordedAt }: Known): Found {
  const { flaw, free = 0, room = 'enough' } = disk;
  const commit = recent.commit_ms.mean ?? 0;
  return [
    problem !== undefined && {
      fault: 'cannot_record',
      text: `Nothing can be recorded: ${problem}`,
      advice:
        'Senders get 503, and may send again. `npx hookkit doctor` looks for the cause, and says what to do.',
    },
    problem === undefined &&
      now - notRecordedAt < SOON_OVER_MS && {
        fault: 'not_recorded',
        text: `${plural(latest.not_recorded, 'request was', 'requests were')} not recorded in the last 2 minutes`,
        advice:
          'Nothing acknowledged is lost. The log says why: a full or stalled disk, a missing or locked database, or an overload. Run `npx hookkit doctor`.',
        path: './#in',
      },
    room !== 'enough' && {
      fault: 'disk',
      grave: room === 'none',
      text: `The disk of the database has ${size(free)} left`,
      advice: 'When it is full, nothing can be recorded. Make room, or set RETENTION_DAYS.',
    },
    flaw !== undefined && { ...flaw, grave: flaw.fault === 'key_gone' },
    commit > SLOW_COMMIT_MS && {
      fault: 'slow_commits',
      text: `Commits took ${duration(commit)} on average in the last 10 minutes`,
      advice: 'Every ack waits for one: look at the disk.',
    },
  ];
}
