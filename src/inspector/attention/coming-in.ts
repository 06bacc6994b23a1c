import { RECENT_MS, type Snapshot } from '../api/stats.ts';
import { duration, plural } from '../pages/words.ts';
import { adviceOnRefused } from '../watch/request-results.ts';
import { type Concern, type Found, since } from './concern.ts';

/** Fewer requests that were refused since something came in may be a stranger's. */
const MANY_IN_A_ROW = 10;
/** More webhooks that are refused have one cause, and one sentence. */
const MOST_WEBHOOKS = 3;

const inWords = (reasons: readonly string[]) => reasons.join(', ').replaceAll('_', ' ');
const were = (count: number) => `${plural(count, 'request was', 'requests were')} refused`;

/** Whether what the provider sends gets in. What strangers send, who know no webhook of ours, is never grave. */
export function comingIn(snapshot: Snapshot, now: number): Found {
  const { last_10_minutes: recent, last_2_minutes: latest, last_recorded_at: last } = snapshot;
  const { rejected, rejected_since: inRow, refused_for: reasons } = recent;
  // Where clocks differ, nobody knows what came after what.
  const webhooks = snapshot.clocks_off.length > 0 ? [] : recent.refused_webhooks;
  if (webhooks.length > MOST_WEBHOOKS) return [refusedTogether(webhooks, now)];
  if (webhooks.length > 0)
    return webhooks.map((one) => ({
      ...refusedTogether([one], now),
      of: one.webhook_id,
      path: 'refused',
    }));
  // What came from quarantine counts, too.
  const isAnyIn = recent.accepted + recent.duplicate > 0 || (last !== null && since(last, now) < RECENT_MS);
  const isNothingIn = inRow >= (isAnyIn ? MANY_IN_A_ROW : 1);
  // A proxy can be mended, and what else strangers send cannot.
  const advice = adviceOnRefused(reasons.includes('no_token') ? 'no_token' : reasons[0]);
  return [
    isNothingIn && {
      fault: 'nothing_gets_in',
      grave: false,
      text: `Nothing gets in, and ${were(inRow)}: ${inWords(reasons)}`,
      advice: `If your provider sent them, its notifications do not arrive. ${advice}`,
      path: 'refused',
    },
    latest.rejected > 0 &&
      !isNothingIn && {
        fault: 'refused',
        grave: false,
        text: `${were(rejected)} in the last 10 minutes: ${inWords(reasons)}`,
        advice,
        path: 'refused',
      },
  ];
}

const FORGER =
  'A forger who knows the id of a webhook, or has seen a notification, can cause this, too: look at the networks.';

/** One sentence for webhooks of which nothing gets in. */
function refusedTogether(webhooks: Snapshot['last_10_minutes']['refused_webhooks'], now: number): Concern {
  const [id, ...others] = webhooks.map(({ webhook_id }) => webhook_id);
  const reasons = [...new Set(webhooks.flatMap(({ refused_for }) => refused_for))];
  const count = webhooks.reduce((sum, { in_a_row }) => sum + in_a_row, 0);
  const longest = Math.max(...webhooks.map((one) => since(one.since, now)));
  const which = others.length > 0 ? `${webhooks.length} webhooks` : `webhook ${id}`;
  const command = `npx hookkit webhooks import --id ${others.length > 0 ? 'ID' : id} --secret-file FILE --replace`;
  const wrongSecret =
    `If the stored secret is the wrong one, or has ended, import the right one: \`${command}\`. ` +
    'What waits in quarantine is admitted then.';
  const advice = reasons.map((reason) =>
    reason === 'bad_signature' || reason === 'no_secret' ? wrongSecret : adviceOnRefused(reason),
  );
  return {
    fault: 'webhook_refused',
    grave: true,
    text: `Nothing of ${which} gets in: ${were(count)} and none accepted in the last ${duration(longest)}: ${inWords(reasons)}`,
    advice: [...new Set(advice), FORGER].join(' '),
    path: 'webhooks',
  };
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
