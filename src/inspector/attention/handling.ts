import { LOOKED_AT } from '../../store/queue/lists/problems.ts';
import type { Snapshot } from '../api/stats.ts';
import { duration, eventsPath, number, plural } from '../pages/words.ts';
import { type Concern, type Found, since } from './concern.ts';

const PENDING = eventsPath({ status: 'pending' });
const WAITED_MS = 300_000;
const READY_MS = 60_000;
/** A failure that is over sooner wakes nobody up. */
const FAILING_MS = 120_000;
/** So many sites have a sentence each, those that have failed for longest; the others share one. */
const MOST_SITES = 3;
const OUTAGE = 'If another system is down, pause handling, so that no attempts are used up. ';
/** So many errors of handlers are told, those with the most events. */
const MOST_ERRORS = 3;

type Groups = Snapshot['failing'];
const sum = (groups: readonly { readonly events: number }[]) =>
  groups.reduce((total, { events }) => total + events, 0);
/** For how long, in milliseconds. */
const longest = (groups: readonly { readonly since: string }[], now: number) =>
  Math.max(...groups.map((one) => since(one.since, now)));

/** What fails, site by site. The page of problems has the kinds. */
function failures(snapshot: Snapshot, now: number): Concern[] {
  const sites = [...Map.groupBy(snapshot.failing, ({ site_id: site }) => site)]
    .toSorted(([, one], [, other]) => longest(other, now) - longest(one, now))
    .map(([of, groups]) => ({ of, where: `site ${of || 'unknown'}`, groups }));
  const rest = sites.slice(MOST_SITES).flatMap(({ groups }) => groups);
  const where = plural(sites.length - MOST_SITES, 'other site');
  const told = [...sites.slice(0, MOST_SITES), ...(rest.length > 0 ? [{ of: '', where, groups: rest }] : [])];
  return told.map((one) => failure(snapshot, one, now));
}

function failure(
  { failing, paused, last_10_minutes: recent }: Snapshot,
  { of, where, groups }: { readonly of: string; readonly where: string; readonly groups: Groups },
  now: number,
): Concern {
  const errors = [...Map.groupBy(groups, ({ error }) => error)]
    .map(([error, alike]) => ({ error, events: sum(alike) }))
    .toSorted((a, b) => b.events - a.events || (a.error < b.error ? -1 : 1));
  const told = errors.slice(0, MOST_ERRORS).map(({ error, events }) => `${error} (${number(events)})`);
  if (errors.length > MOST_ERRORS) told.push(plural(errors.length - MOST_ERRORS, 'other error'));
  const total = sum(groups);
  const least = sum(failing) >= LOOKED_AT ? 'At least ' : '';
  const age = longest(groups, now);
  const none = recent.handled === 0 ? 'Nothing was handled in the last 10 minutes. ' : '';
  return {
    fault: 'failing',
    of,
    grave: age > FAILING_MS,
    text: `${least}${plural(total, 'event fails', 'events fail')} (${where}, for ${duration(age)}): ${told.join('; ')}`,
    advice:
      `${none}Correct the cause: they are tried again as their times come, or at once if you replay them. ` +
      `${paused === null ? OUTAGE : ''}Dismiss what nobody needs.`,
    path: 'problems',
  };
}

/** What was skipped, though an instance had a handler for it. */
function noHandler({ events, kinds, since, ...amiss }: NonNullable<Snapshot['skipped_amiss']>): Concern {
  const filters = { status: 'skipped', error: 'no handler for *', ...(since && { since }) };
  const flags = `--status skipped --error 'no handler for *'${since ? ` --since ${since}` : ''}`;
  return {
    fault: 'no_handler',
    grave: true,
    text:
      `${amiss.has_more ? 'At least ' : ''}${plural(events, 'event was', 'events were')} skipped, as instance ${amiss.lacking} ` +
      `has no handler for ${kinds.join(', ')}, and ${amiss.having} has one`,
    advice: `Give all instances the same handlers, and replay the events: \`npx hookkit events replay ${flags}\`.`,
    path: eventsPath(filters),
    action: { label: 'Replay them', path: eventsPath(filters).replace('events', 'events/replay') },
  };
}

/** Handlers that go on after their time. */
function heldPlaces({ held, instance, places }: Snapshot, now: number): Concern[] {
  return [...Map.groupBy(held, (one) => one.instance)].map(([of, groups]) => {
    const count = sum(groups);
    const which = of === instance ? `${number(count)} of ${places} places` : plural(count, 'place');
    const told = groups
      .slice(0, MOST_ERRORS)
      .map(({ kind, site_id: site, events }) => `${kind} of site ${site || 'unknown'} (${number(events)})`);
    if (groups.length > MOST_ERRORS) told.push('others');
    const first = duration(longest(groups, now));
    return {
      fault: 'held_places',
      of,
      grave: true,
      text: `Handlers past their time hold ${which} of instance ${of}: ${told.join(', ')}, the first for ${first}`,
      advice:
        'They ignore ctx.signal: only a restart of the process frees the places. Events are recorded meanwhile, and handled afterwards. ' +
        'Correct the handlers: pass ctx.signal on, and give every call a time-out.',
      path: eventsPath({ status: 'running' }),
    };
  });
}

/** Whether what was recorded is handled. */
export function handling(snapshot: Snapshot, now: number): Found {
  const { events, paused, failing, held, skipped_amiss: amiss } = snapshot;
  const ready = since(snapshot.oldest_ready_at, now);
  const waited = since(snapshot.oldest_pending_at, now);
  return [
    paused !== null && {
      fault: 'paused',
      grave: true,
      text: `Handling has been paused for ${duration(since(paused.since, now))}, by ${paused.by}: ${paused.reason}`,
      advice: 'Notifications are recorded, but none is handled until you resume: `npx hookkit resume`.',
      path: './#handling',
    },
    ...failures(snapshot, now),
    ...heldPlaces(snapshot, now),
    paused === null &&
      held.length === 0 &&
      ready > READY_MS && {
        fault: 'not_taken_up',
        grave: true,
        text: `An event has been ready for ${duration(ready)}, and no handler takes it up`,
        advice:
          'Handlers are slower than events come, at a limit of the app, or none runs: look at their times and at the instances.',
        path: PENDING,
      },
    failing.length === 0 &&
      held.length === 0 &&
      ready <= READY_MS &&
      waited > WAITED_MS && {
        fault: 'waiting',
        grave: true,
        text: `An event has waited for ${duration(waited)}`,
        advice:
          'Its handler failed, or only another instance has one: its error says so. Replay it to have it run at once, or dismiss it.',
        path: PENDING,
      },
    amiss !== null && noHandler(amiss),
    events.dead > 0 && {
      fault: 'dead',
      grave: true,
      text: `${plural(events.dead, 'event is', 'events are')} dead`,
      advice:
        'Look at the errors, correct the cause, and replay the events; dismiss those that nobody needs.',
      path: 'problems',
    },
  ];
}
