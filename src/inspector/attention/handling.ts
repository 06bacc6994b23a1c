import { LOOKED_AT } from '../../store/queue/lists/problems.ts';
import type { Snapshot } from '../api/stats.ts';
import { duration, eventsPath, number, plural } from '../pages/words.ts';
import { type Concern, type Found, since } from './concern.ts';

const PENDING = eventsPath({ status: 'pending' });
const WAITED_MS = 300_000;
const READY_MS = 60_000;
const OUTAGE = 'If another system is down, pause handling, so that no attempts are used up. ';
/** So many errors of handlers are told, those with the most events. */
const MOST_ERRORS = 3;

/** What fails, in one sentence, however much that is. The page of problems has the kinds. */
function failures({ failing, paused, last_10_minutes: recent }: Snapshot): Concern {
  const sum = (groups: Snapshot['failing']) => groups.reduce((total, { events }) => total + events, 0);
  const errors = [...Map.groupBy(failing, ({ error }) => error)]
    .map(([error, groups]) => ({ error, events: sum(groups) }))
    .toSorted((a, b) => b.events - a.events || (a.error < b.error ? -1 : 1));
  const told = errors.slice(0, MOST_ERRORS).map(({ error, events }) => `${error} (${number(events)})`);
  if (errors.length > MOST_ERRORS) told.push(plural(errors.length - MOST_ERRORS, 'other error'));
  const sites = [...new Set(failing.map(({ site_id: site }) => site || 'unknown'))];
  const where = sites.length > 1 ? plural(sites.length, 'site') : `site ${sites[0]}`;
  const total = sum(failing);
  const least = total >= LOOKED_AT ? 'At least ' : '';
  const none = recent.handled === 0 ? 'Nothing was handled in the last 10 minutes. ' : '';
  return {
    fault: 'failing',
    since: failing.map((group) => group.since).toSorted()[0] ?? null,
    grave: true,
    text: `${least}${plural(total, 'event fails', 'events fail')} (${where}): ${told.join('; ')}`,
    advice:
      `${none}Correct the cause: they are tried again as their times come, or at once if you replay them. ` +
      `${paused === null ? OUTAGE : ''}Dismiss what nobody needs.`,
    path: 'problems',
  };
}

/** Whether what was recorded is handled. */
export function handling(snapshot: Snapshot, now: number): Found {
  const { events, paused, failing } = snapshot;
  const ready = since(snapshot.oldest_ready_at, now);
  const waited = since(snapshot.oldest_pending_at, now);
  return [
    paused !== null && {
      fault: 'paused',
      since: paused.since,
      grave: true,
      text: `Handling has been paused for ${duration(since(paused.since, now))}, by ${paused.by}: ${paused.reason}`,
      advice: 'Notifications are recorded, but none is handled until you resume: `npx hookkit resume`.',
      path: './#handling',
    },
    failing.length > 0 && failures(snapshot),
    paused === null &&
      ready > READY_MS && {
        fault: 'not_taken_up',
        since: snapshot.oldest_ready_at,
        grave: true,
        text: `An event has been ready for ${duration(ready)}, and no handler takes it up`,
        advice:
          'Handlers are slower than events come, at a limit of the app, or none runs: look at their times and at the instances.',
        path: PENDING,
      },
    failing.length === 0 &&
      ready <= READY_MS &&
      waited > WAITED_MS && {
        fault: 'waiting',
        since: snapshot.oldest_pending_at,
        grave: true,
        text: `An event has waited for ${duration(waited)}`,
        advice: 'Its handler failed, or asked to come back. Replay it to have it run at once, or dismiss it.',
        path: PENDING,
      },
    events.dead > 0 && {
      fault: 'dead',
      grave: true,
      text: `${plural(events.dead, 'event is', 'events are')} dead`,
      advice:
        'Look at the errors, correct the cause, and replay the events; dismiss those that nobody needs.',
      path: 'problems',
    },
  ];
}
