import type { Problem } from '../../store/event-store.ts';
import { LOOKED_AT } from '../../store/queue/lists/problems.ts';
import type { Known } from '../api/stats.ts';
import { duration, eventsPath, number, plural } from '../pages/words.ts';
import { type Found, listed, MOST_TOLD, type Sentence, since } from './concern.ts';
import { clocksOff } from './processes.ts';

const READY_MS = 60_000;
/** A failure that is over sooner wakes nobody up. */
const FAILING_MS = 120_000;

const sum = (groups: readonly { readonly count: number }[]) =>
  groups.reduce((total, { count }) => total + count, 0);
const firstOf = (groups: readonly Problem[]) => Math.min(...groups.map(({ failedSince = 0 }) => failedSince));

/** What fails, site by site: those that have failed for longest have a sentence each, and the others share one. */
function failures(known: Known): Sentence[] {
  const sites = [...Map.groupBy(known.failing, ({ siteId }) => siteId)].toSorted(
    ([, one], [, other]) => firstOf(one) - firstOf(other),
  );
  const others = sites.splice(MOST_TOLD);
  const told = sites.map(([of, groups]) => failure(known, of, `site ${of || 'unknown'}`, groups));
  if (others.length === 0) return told;
  const rest = others.flatMap(([, groups]) => groups);
  return [...told, failure(known, '', plural(others.length, 'other site'), rest)];
}

function failure(known: Known, of: string, where: string, groups: readonly Problem[]): Sentence {
  const { now, failing, overview } = known;
  const errors = [...Map.groupBy(groups, ({ error }) => error)];
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
      'Correct the cause: they are tried again as their times come, or at once if you replay them. ' +
      `${overview.paused ? '' : outage}Dismiss what nobody needs.`,
  };
}

/** What was skipped, though an instance had a handler for it. */
function noHandler({ events, kinds, since, ...amiss }: NonNullable<Known['amiss']>): Sentence {
  const path = eventsPath({ status: 'skipped', error: 'no handler for *', ...(since && { since }) });
  const flags = `--status skipped --error 'no handler for *'${since ? ` --since ${since}` : ''}`;
  return {
    fault: 'no_handler',
    text:
      `${amiss.hasMore ? 'At least ' : ''}${plural(events, 'event was', 'events were')} skipped, as instance ${amiss.lacking} ` +
      `has no handler for ${kinds.join(', ')}, and ${amiss.having} has one`,
    advice: `Give all instances the same handlers, and replay the events: \`npx hookkit events replay ${flags}\`.`,
    path,
    action: { label: 'Replay them', path: path.replace('events', 'events/replay') },
  };
}

/** Handlers that go on after their time. */
function heldPlaces({ now, held, instance, config }: Known): Sentence[] {
  return [...Map.groupBy(held, (one) => one.instance)].map(([of, groups]) => {
    const count = sum(groups);
    const which =
      of === instance ? `${number(count)} of ${config.DISPATCH_CONCURRENCY} places` : plural(count, 'place');
    const told = groups.map((one) => `${one.kind} of site ${one.siteId || 'unknown'} (${number(one.count)})`);
    const longest = duration(Math.max(...groups.map((one) => since(one.since, now))));
    return {
      fault: 'held_places',
      of,
      text: `Handlers past their time hold ${which} of instance ${of}: ${listed(told)}, the first for ${longest}`,
      advice:
        'They ignore ctx.signal: only a restart of the process frees the places. Events are recorded meanwhile, and handled afterwards. ' +
        'Correct the handlers: pass ctx.signal on, and give every call a time-out.',
      path: eventsPath({ status: 'running' }),
    };
  });
}

/** Whether what was recorded is handled. */
export function handling(known: Known): Found {
  const { now, overview, held, amiss } = known;
  const { paused, dead } = overview;
  const ready = since(overview.oldestReadyAt, now);
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
    paused === undefined &&
      held.length === 0 &&
      clocksOff(known).length === 0 && // else nobody knows for how long
      ready > READY_MS && {
        fault: 'not_taken_up',
        since: overview.oldestReadyAt,
        text: `An event has been ready for ${duration(ready)}, and no handler takes it up`,
        advice: 'Handlers are slow, at a limit of the app, or none runs: see their times and the instances.',
        path: eventsPath({ status: 'pending' }),
      },
    amiss !== undefined && noHandler(amiss),
    dead > 0 && {
      fault: 'dead',
      text: `${plural(dead, 'event is', 'events are')} dead`,
      advice:
        'Look at the errors, correct the cause, and replay the events; dismiss those that nobody needs.',
    },
  ];
}
