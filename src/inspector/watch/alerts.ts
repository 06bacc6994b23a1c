import { repeat } from '../../base/clock.ts';
import { isUnavailable, messageOf } from '../../base/errors.ts';
import { cut, visibleLine } from '../../base/text.ts';
import type { AdminNeeds } from '../../observer.ts';
import { postAlert } from '../../provider/checks.ts';
import type { Alerts, SeenFault } from '../../store/event-store.ts';
import { iso } from '../../store/queue/lists/event-json.ts';
import { stats } from '../attention/attention.ts';
import type { Concern } from '../attention/concern.ts';
import { duration } from '../pages/words.ts';
import type { Watch } from './watch.ts';

const ROUND_MS = 10_000;
/** The least time between two posts. */
const BETWEEN_MS = 60_000;
/** A store that has done nothing for so many rounds is told of. */
const AWAY_ROUNDS = 3;
/** A fault that is gone for a single round has not ended. */
const ROUNDS_GONE = 2;
/** Slack and Mattermost refuse a text of several times this length. */
const LONGEST_TEXT = 4000;
/** Behind these, a space without width: else Mattermost calls people for `@all`, and both make links of addresses. */
const ACTIVE = /[@#~]|:(?=\/\/)|\](?=\()|www\d*(?=\.)/gi;

type Found = Pick<Concern, 'fault' | 'of' | 'text' | 'advice'>;

/**
 * Posts what is grave to ALERT_URL when it begins and when it is over: one process for all, by a lease in the store, which has what was
 * posted. While a process cannot use the store, it posts that for itself.
 * @returns a function that ends it
 */
export function keepAlerting({ store, config, clock, log }: AdminNeeds, watch: Watch): () => void {
  const { ALERT_URL: url, INSTANCE_NAME: by } = config;
  if (url === undefined) return () => {};
  const ended = new AbortController();
  let own: Alerts = { postedAt: 0, faults: [] };
  let [reachedAt, silent] = [clock.now(), 0];
  let why = 'no answer';

  /** Follows the faults, and posts if something is new or over. @param now by the clock that the times of `before` are of */
  const tell = async (before: Alerts, found: readonly Found[], now: number): Promise<Alerts> => {
    const faults = followed(before.faults, found, now);
    const due = faults.filter((one) => !one.isPosted || isOver(one));
    if (due.length === 0 || Math.abs(now - before.postedAt) < BETWEEN_MS) return { ...before, faults };
    const error = await postAlert(url, alertOf(due, by, now), ended.signal);
    if (error === undefined) {
      const lasting = faults.filter((one) => !isOver(one));
      return { postedAt: now, faults: lasting.map((one) => ({ ...one, isPosted: true })) };
    }
    if (!ended.signal.aborted) log.warn({ error }, 'an alert was not posted; trying again in a minute');
    return { postedAt: now, faults };
  };
  const forAll = async () => {
    const held = await store.reports.holdAlerts({ by });
    const { concerns } = held ? await stats({ store, config, clock, watch }) : { concerns: [] };
    [reachedAt, silent] = [clock.now(), 0];
    if (!held) return;
    const grave = concerns.filter((concern) => concern.grave);
    await store.reports.holdAlerts({ by, alerts: await tell(held, grave, held.now) });
  };
  const stopForAll = repeat(clock, ROUND_MS, async () => {
    await forAll().catch((error) => {
      why = messageOf(error);
      if (!isUnavailable(error) && !ended.signal.aborted)
        log.error({ error: why }, 'cannot look at what needs attention');
    });
    return ROUND_MS;
  });
  // It has rounds of its own, as the store may not answer for long.
  const stopOwn = repeat(clock, ROUND_MS, async () => {
    // After a stall of this process, it has not asked for as long.
    const isAway = ++silent >= AWAY_ROUNDS && clock.now() - reachedAt >= AWAY_ROUNDS * ROUND_MS;
    own = await tell(own, isAway ? [away(by, why)] : [], clock.now());
    return ROUND_MS;
  });
  return () => {
    stopForAll();
    stopOwn();
    ended.abort();
  };
}

const away = (of: string, why: string): Found => ({
  fault: 'cannot_record',
  of,
  text: `The store has not done what it was asked for half a minute: ${why}`,
  advice:
    'Senders get 503, and nothing acknowledged is lost. Run `npx hookkit doctor` where this process runs.',
});

const idOf = ({ fault, of = '' }: Found) => JSON.stringify([fault, of]);
const isOver = ({ missed }: SeenFault) => missed >= ROUNDS_GONE;

/** The faults found now, and those posted before that have gone. */
function followed(before: readonly SeenFault[], found: readonly Found[], now: number): SeenFault[] {
  const known = new Map(before.map((one) => [idOf(one), one]));
  const present = found.map((one) => {
    const { since = now, isPosted = false } = known.get(idOf(one)) ?? {};
    return { ...one, since, isPosted, missed: 0 };
  });
  const ids = new Set(found.map(idOf));
  const gone = before.filter((one) => one.isPosted && !ids.has(idOf(one)));
  return [...present, ...gone.map((one) => ({ ...one, missed: one.missed + 1 }))];
}

/** What is posted: what has begun first. Programs read the members, people the text. */
function alertOf(due: readonly SeenFault[], by: string, now: number) {
  const all = due.toSorted((one, other) => one.missed - other.missed);
  const faults = all.map(({ fault, of, since, text, missed }) => {
    const status = missed === 0 ? 'firing' : 'resolved';
    return { status, fault, of, since: iso(since), text };
  });
  const lines = all.map((one) => {
    const lasted = duration(Math.max(0, now - one.since));
    return isOver(one) ? `✓ ${by}: over after ${lasted}: ${one.text}` : `✕ ${by}: ${one.text}. ${one.advice}`;
  });
  const [{ status, fault, since } = {}] = faults;
  return { text: cut(lines.map(plain).join('\n'), LONGEST_TEXT), status, fault, since, faults };
}

/** A line in which nothing that a sender wrote is a link or a mention, in Slack and in Mattermost. */
function plain(text: string): string {
  const escaped = visibleLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll(ACTIVE, '$&\u200b');
}
