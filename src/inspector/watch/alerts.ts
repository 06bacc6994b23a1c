import { repeat } from '../../base/clock.ts';
import { isUnavailable, messageOf } from '../../base/errors.ts';
import { cut, visibleLine } from '../../base/text.ts';
import type { AdminNeeds } from '../../observer.ts';
import { postAlert } from '../../provider/checks.ts';
import { iso } from '../../store/queue/lists/event-json.ts';
import { stats } from '../attention/attention.ts';
import type { Concern } from '../attention/concern.ts';
import { duration } from '../pages/words.ts';
import type { Watch } from './watch.ts';

const ROUND_MS = 10_000;
/** The least time between two posts. */
const BETWEEN_MS = 60_000;
/** After so many rounds without an answer of the store, an alert is posted. No round passes while the event loop stands still. */
const ROUNDS_AWAY = 3;
/** A fault that is gone for a single round has not ended. */
const ROUNDS_GONE = 2;
/** Slack and Mattermost refuse a text of several times this length. */
const LONGEST_TEXT = 4000;
/** Behind these, a space without width: else Mattermost calls people for `@all`, and both make links of addresses. */
const ACTIVE = /[@#~]|:(?=\/\/)|\](?=\()|www\d*(?=\.)/gi;

type Found = Pick<Concern, 'fault' | 'of' | 'text' | 'advice'>;
/** A grave fault since it is first seen, until its end is posted. `missed`: in how many rounds it has not been seen since. */
type SeenFault = Found & Readonly<{ since: number; isPosted: boolean; missed: number }>;
/** The alerts that all processes together have posted, and when the last one was posted. */
type Alerts = Readonly<{ postedAt: number; faults: readonly SeenFault[] }>;

/**
 * Posts each grave fault to ALERT_URL when it begins and when it is over. One process posts for all, by a lease in the store, which also
 * keeps the posted faults. While a process cannot use the store, it posts that for itself.
 * @returns a function that ends it
 */
export function keepAlerting({ store, config, clock, log }: AdminNeeds, watch: Watch): () => void {
  const { ALERT_URL: url, INSTANCE_NAME: by } = config;
  if (url === undefined) return () => {};
  const ended = new AbortController();
  const own: Alerts = { postedAt: 0, faults: [] };
  let missed = 0;
  let why = 'no answer';

  /** Follows the faults, and posts if something is new or over. @param now by the clock that the times of `before` are of */
  const tell = async (
    before: Alerts,
    found: readonly Found[],
    now: number,
    keep: (alerts: Alerts) => unknown,
  ) => {
    const faults = followed(before.faults, found, now);
    const due = faults.filter((one) => !one.isPosted || isOver(one));
    const isDue = due.length > 0 && Math.abs(now - before.postedAt) >= BETWEEN_MS;
    // At the same time: a process may end while it posts, and the next one must wait.
    const post = isDue && postAlert(url, alertOf(due, by, now), ended.signal);
    const [error] = await Promise.all([post, keep({ postedAt: isDue ? now : before.postedAt, faults })]);
    const lasting = faults.filter((one) => !isOver(one)).map((one) => ({ ...one, isPosted: true }));
    if (error === undefined) await keep({ postedAt: now, faults: lasting });
    else if (error && !ended.signal.aborted)
      log.warn({ error }, 'an alert was not posted; trying again in a minute');
  };
  // The first one at once: the first event may end the process.
  const stopForAll = repeat(clock, 0, async () => {
    try {
      const held = await store.reports.holdAlerts({ by });
      const { concerns } = held ? await stats({ store, config, clock, watch }) : { concerns: [] };
      missed = 0;
      const grave = concerns.filter((concern) => concern.grave);
      if (held) await tell(held, grave, held.now, (alerts) => store.reports.holdAlerts({ by, alerts }));
    } catch (error) {
      why = messageOf(error);
      if (!isUnavailable(error) && !ended.signal.aborted)
        log.error({ error: why }, 'cannot look at what needs attention');
    }
    return ROUND_MS;
  });
  // It has rounds of its own, as the store may not answer for long.
  const stopOwn = repeat(clock, ROUND_MS, async () => {
    const found = ++missed > ROUNDS_AWAY ? [away(by, why)] : [];
    await tell(own, found, clock.now(), (alerts) => Object.assign(own, alerts));
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
  text: `The store has not answered for half a minute: ${why}`,
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

/** The body of a post, with beginnings before ends. Programs read the members, people the text. */
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
