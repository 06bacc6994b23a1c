import type { z } from 'zod';
import type { statsAnswer } from '../api/answers.ts';
import { duration, eventsPath, plural } from './words.ts';

/** Something that somebody should look at, and where. */
export interface Concern {
  readonly grave: boolean;
  readonly text: string;
  readonly advice: string;
  readonly path: string;
}

const OLD_MS = 300_000;
const SLOW_COMMIT_MS = 500;

/** What is not as it should be, the gravest first. Nothing: all is well. */
export function concernsOf(stats: z.output<typeof statsAnswer>, now: number): readonly Concern[] {
  const { events, oldest_pending_at: oldest, quarantined, last_10_minutes: recent } = stats;
  const age = oldest === null ? 0 : now - Date.parse(oldest);
  const commit = recent.commit_ms.p99 ?? 0;
  const concerns: (Concern | false)[] = [
    events.dead > 0 && {
      grave: true,
      text: `${plural(events.dead, 'event was', 'events were')} given up`,
      advice: 'Look at what went wrong, put the handler right, and replay.',
      path: eventsPath({ status: 'dead' }),
    },
    age > OLD_MS && {
      grave: true,
      text: `An event has waited for ${duration(age)}`,
      advice: 'Handlers fail and are tried again, or are too slow for what comes in.',
      path: eventsPath({ status: 'pending' }),
    },
    commit > SLOW_COMMIT_MS && {
      grave: true,
      text: `Commits take up to ${duration(commit)}`,
      advice: 'Every ack waits for one: look at the disk.',
      path: '/api/stats',
    },
    quarantined > 0 && {
      grave: false,
      text: `${plural(quarantined, 'notification waits', 'notifications wait')} in quarantine`,
      advice: 'Store the secret that explains what is signed with it, and it is admitted.',
      path: '/quarantine',
    },
    recent.rejected > 0 && {
      grave: false,
      text: `${plural(recent.rejected, 'request was', 'requests were')} refused in the last 10 minutes`,
      advice: 'Look at the reasons: a wrong secret, a proxy that changes bodies, or somebody who tries.',
      path: '/rejections',
    },
  ];
  return concerns.filter((concern) => concern !== false);
}
