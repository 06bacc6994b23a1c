import type { z } from 'zod';
import type { statsAnswer } from '../api/answer-schemas.ts';
import { RECENT_MS } from '../api/lookups.ts';
import { duration, eventsPath, plural } from './words.ts';

/** A problem for the operator, and the page that shows it. */
export interface Concern {
  readonly grave: boolean;
  readonly text: string;
  readonly advice: string;
  readonly path: string;
}

type Stats = z.output<typeof statsAnswer>;

const OLD_MS = 300_000;
const SLOW_COMMIT_MS = 500;

/** The problems, the gravest first; none if all is well. */
export function concernsOf(stats: Stats, now: number): readonly Concern[] {
  const { events, oldest_pending_at: oldest, quarantined, last_10_minutes: recent } = stats;
  const age = oldest === null ? 0 : now - Date.parse(oldest);
  const commit = recent.commit_ms.p99 ?? 0;
  const concerns: (Concern | false)[] = [
    ...recordingConcerns(stats, now),
    ...refusalConcerns(stats, now),
    !stats.can_read_secrets && {
      grave: true,
      text: 'The stored secrets cannot be read',
      advice:
        'This process goes on with those that it holds, and answers 503 where it would have to look for another. If they were sealed ' +
        'under another key, start it again with that one.',
      path: '/webhooks',
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
      text: `Commits took up to ${duration(commit)} in the last 10 minutes`,
      advice: 'Every ack waits for one: look at the disk.',
      path: '/api/stats',
    },
    quarantined > 0 && {
      grave: false,
      text: `${plural(quarantined, 'notification waits', 'notifications wait')} in quarantine`,
      advice: 'Store the secret of their webhook: then they are verified and admitted.',
      path: '/quarantine',
    },
  ];
  return concerns
    .filter((concern) => concern !== false)
    .toSorted((a, b) => Number(b.grave) - Number(a.grave));
}

/** Problems that keep genuine notifications from being recorded: 503 and 500, which the provider retries for a while. */
function recordingConcerns(stats: Stats, now: number): (Concern | false)[] {
  const { can_record: canRecord, last_10_minutes: recent } = stats;
  const count = recent.not_recorded;
  const advice =
    'Nothing acknowledged is lost. The log says why: a full or stalled disk, a missing database, or an ' +
    'overload. Run npx hookkit doctor.';
  return [
    !canRecord && {
      grave: true,
      text: 'Nothing can be recorded',
      advice: `Every notification gets 503 until the store can commit again. ${advice}`,
      path: '/api/stats',
    },
    count > 0 && {
      grave: true,
      text: !isAnyIn(stats, now)
        ? `Nothing was recorded in the last 10 minutes: ${plural(count, 'request')} got 503 or 500`
        : `${plural(count, 'request was', 'requests were')} not recorded in the last 10 minutes`,
      advice,
      path: '/api/stats',
    },
  ];
}

function refusalConcerns(stats: Stats, now: number): (Concern | false)[] {
  const { last_10_minutes: recent } = stats;
  const isOver = recent.refusals_are_over;
  const isNothingIn = !isOver && !isAnyIn(stats, now);
  const count = recent.rejected;
  const reasons = 'a wrong secret, a proxy that changes bodies, or an attack';
  return [
    count > 0 &&
      isNothingIn && {
        grave: true,
        text: `Nothing gets in: ${count === 1 ? 'the one request' : `all ${plural(count, 'request')}`} of the last 10 minutes ${count === 1 ? 'was' : 'were'} refused`,
        advice: `If your provider sent them, its notifications do not arrive. Look at the reasons: ${reasons}.`,
        path: '/rejections',
      },
    ...recent.refused_webhooks.map(({ webhook_id: id, refused, last_accepted_at: last }) => ({
      grave: true,
      text: `Nothing of webhook ${id} gets in: ${plural(refused, 'request was', 'requests were')} refused, ${last === null ? 'and none accepted' : 'and none accepted since'}`,
      advice: `Its secret may be the wrong one: npx hookkit webhooks import --id ${id} --secret-file FILE --replace. Else look at the reasons.`,
      path: '/rejections',
    })),
    count > 0 &&
      !isNothingIn && {
        grave: false,
        text: `${plural(count, 'request was', 'requests were')} refused in the last 10 minutes`,
        advice: isOver
          ? 'A secret of their webhook was stored since, and what it verifies of the quarantine is admitted.'
          : `Look at the reasons: ${reasons}.`,
        path: '/rejections',
      },
  ];
}

/** Whether anything came in lately: to this process, to another one, or from quarantine. */
function isAnyIn({ last_10_minutes: recent, last_recorded_at: last }: Stats, now: number): boolean {
  return recent.accepted + recent.duplicate > 0 || (last !== null && Date.parse(last) > now - RECENT_MS);
}
