import { isoOrNull } from '../../store/queue/lists/event-json.ts';
import { type Known, lookAt, type Sources, shownOf } from '../api/stats.ts';
import { duration, plural, size } from '../pages/words.ts';
import { comingIn } from './coming-in.ts';
import { type Concern, type Found, since } from './concern.ts';
import { handling } from './handling.ts';
import { missing } from './missing.ts';
import { processes } from './processes.ts';

const SLOW_COMMIT_MS = 250;
/** The last minute with such a request, and half of one more. */
const SOON_OVER_MS = 90_000;

/** The facts about the service, and those that need attention. */
export async function stats(sources: Sources) {
  const known = await lookAt(sources);
  return { ...shownOf(known), concerns: concernsOf(known), well: wellOf(known) };
}

/** The problems, the gravest first; none if all is well. Each ends when its advice is followed. */
export function concernsOf(known: Known): Concern[] {
  const about = (path: string, found: Found) =>
    found.map((one) => one && { path, grave: true, ...one, since: isoOrNull(one.since) });
  return [
    ...about('./#kept', keeping(known)),
    ...about('problems', handling(known)),
    ...about('./#instances', processes(known)),
    ...about('refused', comingIn(known)),
    ...about('./#in', missing(known)),
  ]
    .filter((found) => found !== false)
    .toSorted((one, other) => Number(other.grave) - Number(one.grave));
}

/** The sentence where nothing needs attention: when the last notification came. */
function wellOf({ lastAt, now }: Known): string {
  if (lastAt === undefined) return 'No notification has come in yet.';
  return `No event is dead, and none has waited for long. The newest notification came ${duration(since(lastAt, now))} ago.`;
}

/** Whether notifications can be recorded, and the place where they are kept is sound. */
function keeping({ now, problem, disk, recent, latest, notRecordedAt }: Known): Found {
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
      advice: 'Every ack waits for a commit: look at the disk.',
    },
  ];
}
