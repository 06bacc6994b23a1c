import { RECENT_MS, type Snapshot } from '../api/stats.ts';
import { duration, plural } from '../pages/words.ts';
import { adviceOnRefused } from '../watch/request-results.ts';
import { type Found, since } from './concern.ts';

/** Fewer requests that were refused since something came in may be a stranger's. */
const MANY_IN_A_ROW = 10;

const inWords = (reasons: readonly string[]) => reasons.join(', ').replaceAll('_', ' ');
const were = (count: number) => `${plural(count, 'request was', 'requests were')} refused`;

/** Whether what the provider sends gets in. */
export function comingIn(snapshot: Snapshot, now: number): Found {
  const { last_10_minutes: recent, last_2_minutes: latest, last_recorded_at: last } = snapshot;
  const { rejected, rejected_since: inRow, refused_for: reasons, refused_webhooks: webhooks } = recent;
  // What came from quarantine counts, too.
  const isAnyIn = recent.accepted + recent.duplicate > 0 || (last !== null && since(last, now) < RECENT_MS);
  const isNothingIn = inRow >= (isAnyIn ? MANY_IN_A_ROW : 1);
  const advice = adviceOnRefused(reasons[0]);
  return [
    isNothingIn && {
      fault: 'nothing_gets_in',
      grave: true,
      text: `Nothing gets in, and ${were(inRow)}: ${inWords(reasons)}`,
      advice: `If your provider sent them, its notifications do not arrive. ${advice}`,
      path: 'refused',
    },
    ...webhooks.map(({ webhook_id: id, refused, refused_for, last_refused_at: at }) => ({
      fault: 'webhook_refused',
      of: id,
      grave: true,
      text: `Nothing of webhook ${id} gets in: ${inWords(refused_for)}`,
      advice:
        `${were(refused)}, the last one ${duration(since(at, now))} ago. If its secret is the wrong one: ` +
        `\`npx hookkit webhooks import --id ${id} --secret-file FILE --replace\`. Else look at the reasons.`,
      path: 'refused',
    })),
    latest.rejected > 0 &&
      !isNothingIn &&
      webhooks.length === 0 && {
        fault: 'refused',
        grave: false,
        text: `${were(rejected)} in the last 10 minutes: ${inWords(reasons)}`,
        advice,
        path: 'refused',
      },
  ];
}

/** What waits for a secret, and secrets that end. */
export function unproven({ quarantined, retiring }: Snapshot, now: number): Found {
  return [
    quarantined > 0 && {
      fault: 'quarantined',
      grave: false,
      text: `${plural(quarantined, 'notification waits', 'notifications wait')} in quarantine`,
      advice:
        'Store the secret of their webhook: then they are admitted. Drop those of no webhook of yours: ' +
        '`npx hookkit quarantine drop --webhook ID`.',
      path: 'refused',
    },
    ...retiring.map(({ webhook_id: id, retires_at: at }) => ({
      fault: 'retiring',
      of: id,
      grave: false,
      text: `The only secret of webhook ${id} ends in ${duration(Date.parse(at) - now)}, and its notifications still come`,
      advice: `Store the next one before: \`npx hookkit webhooks import --id ${id} --secret-file FILE\`.`,
      path: 'webhooks',
    })),
  ];
}
