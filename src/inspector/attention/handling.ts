import type { Problem } from '../../store/event-store.ts';
import { LOOKED_AT } from '../../store/queue/lists/problems.ts';
import { ofSubscriber } from '../../store/stored.ts';
import { type Known, runs } from '../api/stats.ts';
import { duration, eventsPath, number, plural } from '../pages/words.ts';
import { type Found, listed, MOST_TOLD, type Sentence, since } from './concern.ts';
import { clocksOff } from './processes.ts';

const READY_MS = 60_000;
/** A failure that is over sooner wakes nobody up. */
const FAILING_MS = 120_000;

const sum = (groups: readonly { readonly count: number }[]) =>
  groups.reduce((total, { count }) => total + count, 0);
/** The filter by a subscriber, where there are any. */
const filterOf = ({ overview }: Known, subscriber: string) =>
  Object.keys(overview.subscribers).length > 1 ? { subscriber: subscriber || 'main' } : {};
/** Whether a living process runs a subscriber's events: else they wait, and a sentence of its own tells. */
const isRun = ({ lives }: Known, subscriber: string) =>
  subscriber === '' || lives.some((one) => one.state === 'live' && runs(subscriber)(one));
const ofNamed = (subscriber: string) => (subscriber ? ` of subscriber ${subscriber}` : '');
const firstOf = (groups: readonly Problem[]) => Math.min(...groups.map(({ failedSince = 0 }) => failedSince));

/** Failing events by site: the sites that have failed for longest have a sentence each, and the others share one. */
function failures(known: Known): Sentence[] {
  const failing = known.failing.filter(({ subscriber }) => isRun(known, subscriber));
  const sites = [...Map.groupBy(failing, ({ siteId }) => siteId)].toSorted(
    ([, one], [, other]) => firstOf(one) - firstOf(other),
  );
  const others = sites.splice(MOST_TOLD);
  const told = sites.map(([of, groups]) => failure(known, of, of ? `site ${of}` : 'of no site', groups));
  if (others.length === 0) return told;
  const rest = others.flatMap(([, groups]) => groups);
  return [...told, failure(known, '', plural(others.length, 'other site'), rest)];
}

function failure(known: Known, of: string, where: string, groups: readonly Problem[]): Sentence {
  const { now, failing, overview } = known;
  const errorOf = ({ subscriber, error }: Problem) => (subscriber ? `${subscriber}: ${error}` : error);
  const errors = [...Map.groupBy(groups, errorOf)];
  const told = listed(errors.map(([error, alike]) => `${error} (${number(sum(alike))})`));
  const least = sum(failing) >= LOOKED_AT ? 'At least ' : '';
  const age = since(firstOf(groups), now);
  const outage = 'If another system is down, pause handling, so that no attempts are used up. ';
  return {
    fault: 'failing',
    of,
    since: firstOf(groups),
    grave: age > FAILING_MS,
    text: `${least}${plural(sum(groups), 'event fails', 'events fail')} (${where}, for ${duration(age)}): ${told}`,
    advice:
      'Correct the cause. The events are retried when they are due, or at once if you replay them. ' +
      `${overview.paused ? '' : outage}Dismiss events that nobody needs.`,
  };
}

/** Events that were skipped, though an instance had a handler for them. */
function noHandler(known: Known, amiss: Known['amiss'][number]): Sentence {
  const { events, kind, kinds, since, subscriber } = amiss;
  const of = kind ? ofSubscriber(kind, subscriber) : subscriber;
  const more = { ...filterOf(known, subscriber), ...(kind && { kind }), ...(since && { since }) };
  const flags = Object.entries(more).map(([name, value]) => ` --${name} ${value}`);
  const command = `npx hookkit events replay --status skipped --error 'no handler for *'${flags.join('')}`;
  return {
    fault: 'no_handler',
    ...(of && { of }),
    text:
      `${amiss.hasMore ? 'At least ' : ''}${plural(events, 'event was', 'events were')} skipped, as instance ${amiss.lacking} ` +
      `has no handler${ofNamed(subscriber)} for ${kinds.join(', ')}, and ${amiss.having} has one`,
    advice: `Give all instances the same handlers, and replay the events: \`${command}\`.`,
    path: eventsPath({ status: 'skipped', error: 'no handler for *', ...more }),
  };
}

/** Handlers that go on after their time. */
function heldPlaces(known: Known): Sentence[] {
  const { now, held, instance, config } = known;
  // Each subscriber has places of its own.
  const placesOf = (one: (typeof held)[number]) => ofSubscriber(one.instance, one.subscriber);
  return [...Map.groupBy(held, placesOf)].map(([of, starts]) => {
    const [{ instance: on, subscriber } = { instance: of, subscriber: '' }] = starts;
    const which =
      on === instance
        ? `${number(starts.length)} of ${config.DISPATCH_CONCURRENCY} places`
        : plural(starts.length, 'place');
    const alike = Map.groupBy(starts, ({ kind, siteId }) => `${kind} of site ${siteId || 'unknown'}`);
    const groups = [...alike].toSorted(([, one], [, other]) => other.length - one.length);
    const told = groups.map(([what, some]) => `${what} (${number(some.length)})`);
    const longest = duration(Math.max(...starts.map((one) => since(one.since, now))));
    return {
      fault: 'held_places',
      of,
      text: `Handlers past their time-out hold ${which}${ofNamed(subscriber)} of instance ${on}: ${listed(told)}, the first for ${longest}`,
      advice:
        'They ignore ctx.signal: only a restart of the process frees the places. Events are recorded meanwhile, and handled afterwards. ' +
        'Correct the handlers: pass ctx.signal on, and give every call a time-out.',
      path: eventsPath({ status: 'running', ...filterOf(known, subscriber) }),
    };
  });
}

/** Events that stay ready. */
function notTakenUp(known: Known): Sentence[] {
  const { now, overview, held } = known;
  const stuck = Object.entries(overview.subscribers).filter(([name, { oldestReadyAt }]) => {
    const areHeld = held.some(({ subscriber }) => subscriber === name);
    return since(oldestReadyAt, now) > READY_MS && !areHeld && isRun(known, name);
  });
  return stuck.map(([name, { oldestReadyAt }]) => ({
    fault: 'not_taken_up',
    ...(name && { of: name }),
    since: oldestReadyAt,
    text: `An event${ofNamed(name)} has been ready for ${duration(since(oldestReadyAt, now))}, and no handler has started`,
    advice: 'Handlers are slow, at a limit of the app, or no process runs: see their times and instances.',
    path: eventsPath({ status: 'pending', ...filterOf(known, name) }),
  }));
}

/** Subscribers that no process has had for an hour: the store forgets none sooner. */
function absentSubscribers({ subscribers, lives }: Known): Sentence[] {
  const absent = subscribers.filter(({ name }) => lives.length > 0 && !lives.some(runs(name)));
  return absent.map(({ name: of, behind }) => ({
    fault: 'absent_subscriber',
    of,
    grave: false,
    text: `No process has had subscriber ${of} for an hour: it is ${plural(behind, 'notification')} behind`,
    advice:
      'Its events wait until a process has it, and retention keeps notifications for it for 30 days. Deploy a process that has it, or remove it: ' +
      `\`npx hookkit subscribers remove ${of}\`.`,
    path: './#subscribers',
  }));
}

/** Whether what was recorded is handled. */
export function handling(known: Known): Found {
  const { now, overview, amiss, ticking } = known;
  const { paused, dead } = overview;
  const overdue = ticking.schedules.filter((one) => one.overdue && paused === undefined);
  return [
    paused !== undefined && {
      fault: 'paused',
      since: paused.since,
      text: `Handling has been paused for ${duration(since(paused.since, now))}, by ${paused.by}: ${paused.reason}`,
      advice: 'Notifications are recorded, but none is handled until you resume: `npx hookkit resume`.',
      path: './#handling',
    },
    ...failures(known),
    ...heldPlaces(known),
    // Where clocks are off, nobody knows for how long.
    ...(paused === undefined && clocksOff(known).length === 0 ? notTakenUp(known) : []),
    ...amiss.map((one) => noHandler(known, one)),
    ...absentSubscribers(known),
    ...overdue.map(({ name: of, next_at }) => ({
      fault: 'schedule_overdue',
      of,
      grave: false,
      since: Date.parse(next_at),
      text: `No instance has made the tick of schedule ${of} that was due at ${next_at}`,
      advice:
        'An instance makes it only if its app has the same times as the instance that started last: deploy one version, and restart all instances.',
      path: 'reminders',
    })),
    dead > 0 && {
      fault: 'dead',
      text: `${plural(dead, 'event is', 'events are')} dead`,
      advice:
        'Look at the errors, correct the cause, and replay the events; dismiss those that nobody needs.',
    },
  ];
}
