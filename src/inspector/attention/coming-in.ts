import type { Refusals } from '../../store/event-store.ts';
import { type Known, RECENT_MS } from '../api/stats.ts';
import { duration, plural } from '../pages/words.ts';
import { adviceOnRefused } from '../watch/request-results.ts';
import { type Found, MOST_TOLD, type Sentence, since } from './concern.ts';
import { clocksOff } from './processes.ts';

/** Another process may tell so much later what it accepted than this one what it refused. */
const SOON_MS = 30_000;
/** After so many refusals in a row no notification gets in; or after two, if the first was so long ago. */
const MANY_IN_A_ROW = 10;
const LONG_MS = 120_000;

/** Each reason once. */
const reasonsOf = (refusals: readonly Refusals[]) => [...new Set(refusals.map(({ reason }) => reason))];
const inWords = (reasons: readonly string[]) => reasons.join(', ').replaceAll('_', ' ');
const were = (count: number) => `${plural(count, 'request was', 'requests were')} refused`;

/** Whether what the provider sends gets in. What strangers send, who know no webhook of ours, is never grave. */
export function comingIn(known: Known): Found {
  const { now, overview, recent, latest, refusals, lastAt = 0 } = known;
  const { quarantined, quarantineLost: lost } = overview;
  // Where clocks differ, nobody knows what came after what.
  const webhooks = clocksOff(known).length > 0 ? [] : webhooksLeftOut(known);
  // More webhooks that are refused have one cause, and one sentence.
  const leftOut = webhooks.length > MOST_TOLD ? [webhooks] : webhooks.map((one) => [one]);
  const reasons = reasonsOf(refusals.filter(({ lastAt }) => lastAt > now - RECENT_MS));
  // Notifications admitted from quarantine count, too.
  const isAnyIn = recent.accepted + recent.duplicate > 0 || lastAt > now - RECENT_MS;
  // A proxy can be mended, and what else strangers send cannot.
  const advice = adviceOnRefused(reasons.includes('no_token') ? 'no_token' : reasons[0]);
  return [
    ...leftOut.map((together) => refusedTogether(together, now)),
    webhooks.length === 0 &&
      recent.rejected > 0 &&
      (latest.rejected > 0 || !isAnyIn) && {
        fault: 'refused',
        grave: false,
        text: `${isAnyIn ? '' : 'No notification gets in: '}${were(recent.rejected)} in the last 10 minutes: ${inWords(reasons)}`,
        advice: `${isAnyIn ? '' : 'If your provider sent them, its notifications do not arrive. '}${advice}`,
      },
    quarantined > 0 && {
      fault: 'quarantined',
      grave: false,
      text: `${plural(quarantined, 'notification waits', 'notifications wait')} in quarantine${lost > 0 ? `, and ${lost} had no room there so far` : ''}`,
      advice:
        'If the webhook is yours, store its secret: the receiver then admits them. Drop the others: ' +
        '`npx hookkit quarantine drop --webhook ID`.',
    },
  ];
}

/**
 * Webhooks of ours of which nothing gets in: of those with a live secret, and of those that have an event and never had a secret. What was
 * admitted from quarantine counts as accepted. Strangers can name any other webhook.
 */
export function webhooksLeftOut({ refusals, secrets, accepted, now }: Standing) {
  const newest = new Map(accepted.map(({ webhookId, receivedAt }) => [webhookId, receivedAt]));
  const isOurs = (id: string) => {
    const own = Array.isArray(secrets) ? secrets.filter(({ webhookId }) => webhookId === id) : [];
    if (own.length === 0) return id !== '' && newest.has(id); // without an id: of requests that name none
    // What was rotated or deleted has an end: its last notifications may be sent again.
    return own.some(({ retireAt = now + 1 }) => retireAt > now);
  };
  const inRow = refusals.filter(({ inARow }) => inARow > 0);
  const rows = [...Map.groupBy(inRow, ({ webhookId }) => webhookId)]
    .map(([id, groups]) => ({
      id,
      reasons: reasonsOf(groups),
      count: groups.reduce((sum, { inARow }) => sum + inARow, 0),
      since: Math.min(...groups.map(({ rowSince = now }) => rowSince)),
      lastAt: Math.max(...groups.map(({ lastAt }) => lastAt)),
    }))
    .filter(({ id, since, lastAt }) => {
      const isBroken = (newest.get(id) ?? 0) >= Math.max(since, lastAt - SOON_MS);
      return lastAt > now - RECENT_MS && !isBroken && isOurs(id);
    });
  // Of many webhooks, each may have few.
  const isNoneIn = Math.max(0, ...newest.values()) < Math.min(...rows.map((row) => row.since));
  const isMany = isNoneIn && rows.reduce((sum, { count }) => sum + count, 0) >= MANY_IN_A_ROW;
  return rows.filter(
    (row) => isMany || row.count >= MANY_IN_A_ROW || (row.count > 1 && row.since <= now - LONG_MS),
  );
}

/** The facts that tell of which webhooks notifications come, and get in. */
type Standing = Pick<Known, 'refusals' | 'secrets' | 'accepted' | 'now'>;

/** One sentence for webhooks of which nothing gets in. */
function refusedTogether(webhooks: ReturnType<typeof webhooksLeftOut>, now: number): Sentence {
  const [id, ...others] = webhooks.map((one) => one.id);
  const reasons = [...new Set(webhooks.flatMap((one) => one.reasons))];
  const count = webhooks.reduce((sum, one) => sum + one.count, 0);
  const first = Math.min(...webhooks.map((one) => one.since));
  const [which, named] = others.length > 0 ? [`${webhooks.length} webhooks`, 'ID'] : [`webhook ${id}`, id];
  const wrongSecret =
    'If the stored secret is the wrong one, or is retired, import the right one: ' +
    `\`npx hookkit webhooks import --id ${named} --secret-file FILE --replace\`. Its notifications in quarantine are admitted then.`;
  const advice = reasons.map((reason) =>
    reason === 'bad_signature' || reason === 'no_secret' ? wrongSecret : adviceOnRefused(reason),
  );
  const forger =
    'A forger who knows the id of a webhook, or has seen a notification, can cause this, too: look at the networks.';
  return {
    fault: 'webhook_refused',
    ...(others.length === 0 && { of: id }),
    text: `No notification of ${which} gets in: ${were(count)} and none accepted in the last ${duration(since(first, now))}: ${inWords(reasons)}`,
    advice: [...new Set(advice), forger].join(' '),
  };
}
