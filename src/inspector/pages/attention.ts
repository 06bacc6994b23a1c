import { RECENT_MS, type StatsAnswer } from '../api/stats.ts';
import { duration, eventsPath, plural } from './words.ts';

/** A problem for the operator, and the page that shows it. */
export interface Concern {
  readonly grave: boolean;
  readonly text: string;
  readonly advice: string;
  readonly path: string;
}

const OLD_MS = 300_000;
const SLOW_COMMIT_MS = 250;
const REASONS = 'a wrong secret, a proxy that changes bodies, or an attack';
const NOT_RECORDED =
  'Nothing acknowledged is lost. The log says why: a full or stalled disk, a missing database, or an ' +
  'overload. Run npx hookkit doctor.';

/** The problems, the gravest first; none if all is well. */
export function concernsOf(stats: StatsAnswer, now: number): readonly Concern[] {
  const { events, oldest_pending_at: oldest, quarantined, last_10_minutes: recent } = stats;
  const { rejected, not_recorded: notRecorded } = recent;
  const age = oldest === null ? 0 : now - Date.parse(oldest);
  const commit = recent.commit_ms.mean ?? 0;
  // What came from quarantine counts, too. Without any event the time is NaN, which is never later.
  const isAnyIn =
    recent.accepted + recent.duplicate > 0 || Date.parse(stats.last_recorded_at ?? '') > now - RECENT_MS;
  const isNothingIn = rejected > 0 && !isAnyIn;
  const all = rejected === 1 ? 'the one request' : `all ${plural(rejected, 'request')}`;
  const were = rejected === 1 ? 'was' : 'were';
  const unrecorded = plural(notRecorded, 'request was', 'requests were');
  const concerns: (Concern | false)[] = [
    !stats.can_record && {
      grave: true,
      text: 'Nothing can be recorded',
      advice: `Every notification gets 503 until the store can commit again. ${NOT_RECORDED}`,
      path: 'api/stats',
    },
    notRecorded > 0 && {
      grave: true,
      text: isAnyIn
        ? `${unrecorded} not recorded in the last 10 minutes`
        : `Nothing was recorded in the last 10 minutes: ${plural(notRecorded, 'request')} got 503 or 500`,
      advice: NOT_RECORDED,
      path: 'api/stats',
    },
    isNothingIn && {
      grave: true,
      text: `Nothing gets in: ${all} of the last 10 minutes ${were} refused`,
      advice: `If your provider sent them, its notifications do not arrive. Look at the reasons: ${REASONS}.`,
      path: 'refused',
    },
    ...recent.refused_webhooks.map(({ webhook_id: id, refused }) => ({
      grave: true,
      text: `Nothing of webhook ${id} gets in: ${plural(refused, 'request was', 'requests were')} refused, and none accepted`,
      advice: `Its secret may be the wrong one: npx hookkit webhooks import --id ${id} --secret-file FILE --replace. Else look at the reasons.`,
      path: 'refused',
    })),
    !stats.can_read_secrets && {
      grave: true,
      text: 'The stored secrets cannot be read',
      advice:
        'This process goes on with those that it holds, and answers 503 where it would have to look for another. If they were sealed ' +
        'under another key, start it again with that one.',
      path: 'webhooks',
    },
    events.dead > 0 && {
      grave: true,
      text: `${plural(events.dead, 'event is', 'events are')} dead`,
      advice: 'Look at the errors, correct the handler, and replay the events.',
      path: eventsPath({ status: 'dead' }),
    },
    age > OLD_MS && {
      grave: true,
      text: `An event has waited for ${duration(age)}`,
      advice: 'Handlers fail and are retried, or are too slow for the incoming events.',
      path: eventsPath({ status: 'pending' }),
    },
    commit > SLOW_COMMIT_MS && {
      grave: true,
      text: `Commits took ${duration(commit)} on average in the last 10 minutes`,
      advice: 'Every ack waits for one: look at the disk.',
      path: 'api/stats',
    },
    rejected > 0 &&
      !isNothingIn && {
        grave: false,
        text: `${plural(rejected, 'request was', 'requests were')} refused in the last 10 minutes`,
        advice: `Look at the reasons: ${REASONS}.`,
        path: 'refused',
      },
    quarantined > 0 && {
      grave: false,
      text: `${plural(quarantined, 'notification waits', 'notifications wait')} in quarantine`,
      advice: 'Store the secret of their webhook: then they are verified and admitted.',
      path: 'refused',
    },
  ];
  return concerns
    .filter((concern) => concern !== false)
    .toSorted((a, b) => Number(b.grave) - Number(a.grave));
}
