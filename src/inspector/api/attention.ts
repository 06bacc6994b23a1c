import { LOOKED_AT } from '../../store/queue/lists/problems.ts';
import { duration, eventsPath, number, plural, size } from '../pages/words.ts';
import { adviceOnRefused } from '../watch/request-results.ts';
import { RECENT_MS, type Snapshot, type Sources, snapshotOf } from './stats.ts';

/** A problem for the operator, and what helps. */
export interface Concern {
  /** whether notifications do not come in, or are not handled */
  readonly grave: boolean;
  readonly text: string;
  /** commands stand between backticks */
  readonly advice: string;
  /** the page that shows more, from the root of the listener */
  readonly path: string;
}

/** What is known of the service, and what of that needs attention. */
export async function stats(sources: Sources, asked = sources.store.reports.overview()) {
  const snapshot = await snapshotOf(sources, asked);
  const now = sources.clock.now();
  return { ...snapshot, concerns: concernsOf(snapshot, now), well: wellOf(snapshot, now) };
}

/** The problems, the gravest first; none if all is well. Each ends when its advice is followed. */
export function concernsOf(snapshot: Snapshot, now: number): Concern[] {
  return [recording, handling, processes, comingIn, left]
    .flatMap((look) => look(snapshot, now))
    .filter((found) => found !== false)
    .toSorted((one, other) => Number(other.grave) - Number(one.grave));
}

/** What is said where nothing needs attention: when something came last. */
function wellOf({ last_recorded_at: last }: Snapshot, now: number): string {
  if (last === null) return 'Nothing has come in yet.';
  return `No event is dead, and none has waited for long. The newest event came ${duration(since(last, now))} ago.`;
}

type Found = readonly (Concern | false)[];

const grave = (text: string, advice: string, path: string): Concern => ({ grave: true, text, advice, path });
const minor = (text: string, advice: string, path: string): Concern => ({ grave: false, text, advice, path });
const since = (time: string | null, now: number) => (time === null ? 0 : Math.max(0, now - Date.parse(time)));

const SLOW_COMMIT_MS = 250;
const NOT_RECORDED =
  'Nothing acknowledged is lost. The log says why: a full or stalled disk, a missing database, or an overload. Run `npx hookkit doctor`.';

function recording(snapshot: Snapshot): Found {
  const { cannot_record: problem, disk, last_10_minutes: recent, last_2_minutes: latest } = snapshot;
  const commit = recent.commit_ms.mean ?? 0;
  const report = disk.room === 'none' ? grave : minor;
  return [
    problem !== null &&
      grave(`Nothing can be recorded: ${problem}`, `Senders get 503. ${NOT_RECORDED}`, './#now'),
    problem === null &&
      latest.not_recorded > 0 &&
      grave(
        `${plural(recent.not_recorded, 'request was', 'requests were')} not recorded in the last 10 minutes`,
        NOT_RECORDED,
        './#hour',
      ),
    disk.free_bytes !== null &&
      disk.room !== 'enough' &&
      report(
        `The disk of the database has ${size(disk.free_bytes)} left`,
        'When it is full, nothing can be recorded. Make room, or set RETENTION_DAYS.',
        './#instances',
      ),
    commit > SLOW_COMMIT_MS &&
      grave(
        `Commits took ${duration(commit)} on average in the last 10 minutes`,
        'Every ack waits for one: look at the disk.',
        './#hour',
      ),
  ];
}

const PENDING = eventsPath({ status: 'pending' });
const WAITED_MS = 300_000;
const READY_MS = 60_000;
const OUTAGE = 'If another system is down, pause handling, so that no attempts are used up. ';
/** So many errors of handlers are told, those with the most events. */
const MOST_ERRORS = 3;

/** What fails, in one sentence, however much that is. The page of problems has the kinds. */
function failures({ failing, paused, last_10_minutes: recent }: Snapshot): Concern {
  const sum = (groups: Snapshot['failing']) => groups.reduce((total, { events }) => total + events, 0);
  const errors = [...Map.groupBy(failing, ({ error }) => error)]
    .map(([error, groups]) => ({ error, events: sum(groups) }))
    .toSorted((a, b) => b.events - a.events || (a.error < b.error ? -1 : 1));
  const told = errors.slice(0, MOST_ERRORS).map(({ error, events }) => `${error} (${number(events)})`);
  if (errors.length > MOST_ERRORS) told.push(plural(errors.length - MOST_ERRORS, 'other error'));
  const sites = [...new Set(failing.map(({ site_id: site }) => site || 'unknown'))];
  const where = sites.length > 1 ? plural(sites.length, 'site') : `site ${sites[0]}`;
  const total = sum(failing);
  const least = total >= LOOKED_AT ? 'At least ' : '';
  const none = recent.handled === 0 ? 'Nothing was handled in the last 10 minutes. ' : '';
  return grave(
    `${least}${plural(total, 'event fails', 'events fail')} (${where}): ${told.join('; ')}`,
    `${none}Correct the cause: they are tried again as their times come, or at once if you replay them. ` +
      `${paused === null ? OUTAGE : ''}Dismiss what nobody needs.`,
    'problems',
  );
}

function handling(snapshot: Snapshot, now: number): Found {
  const { paused, failing } = snapshot;
  const ready = since(snapshot.oldest_ready_at, now);
  const waited = since(snapshot.oldest_pending_at, now);
  return [
    paused !== null &&
      grave(
        `Handling has been paused for ${duration(since(paused.since, now))}, by ${paused.by}: ${paused.reason}`,
        'Notifications are recorded, but none is handled until you resume: `npx hookkit resume`.',
        './#handling',
      ),
    failing.length > 0 && failures(snapshot),
    paused === null &&
      ready > READY_MS &&
      grave(
        `An event has been ready for ${duration(ready)}, and no handler takes it up`,
        'Handlers are slower than events come, at a limit of the app, or none runs: look at their times and at the instances.',
        PENDING,
      ),
    failing.length === 0 &&
      ready <= READY_MS &&
      waited > WAITED_MS &&
      grave(
        `An event has waited for ${duration(waited)}`,
        'Its handler failed, or asked to come back. Replay it to have it run at once, or dismiss it.',
        PENDING,
      ),
  ];
}

function processes(snapshot: Snapshot, now: number): Found {
  const { instance, instances, can_read_secrets: canRead, can_record: canRecord } = snapshot;
  // One that cannot record may live, and cannot say so.
  const away = canRecord ? instances.filter((one) => one.away && one.name !== instance) : [];
  const isNone = instance === null && instances.length === 0;
  return [
    isNone &&
      grave(
        'No server runs on this database',
        'Nothing is received or handled: `npm start`.',
        './#instances',
      ),
    ...away.map(({ name, seen_at: at }) =>
      grave(
        `Instance ${name} was last seen ${duration(since(at, now))} ago`,
        'It stands still or has crashed: look at its log, and start it again. If it is gone for good, forget it on the overview.',
        './#instances',
      ),
    ),
    !canRead &&
      grave(
        'The stored secrets cannot be read',
        'Processes go on with those that they hold. If they were sealed under another key, start again with that one.',
        'webhooks',
      ),
  ];
}

/** Fewer requests that were refused since something came in may be a stranger's. */
const MANY_IN_A_ROW = 10;

const inWords = (reasons: readonly string[]) => reasons.join(', ').replaceAll('_', ' ');

function comingIn(snapshot: Snapshot, now: number): Found {
  const { last_10_minutes: recent, last_2_minutes: latest, last_recorded_at: last } = snapshot;
  const { rejected, rejected_since: inRow, refused_for: reasons, refused_webhooks: webhooks } = recent;
  // What came from quarantine counts, too.
  const isAnyIn = recent.accepted + recent.duplicate > 0 || (last !== null && since(last, now) < RECENT_MS);
  const isNothingIn = inRow >= (isAnyIn ? MANY_IN_A_ROW : 1);
  const were = (count: number) => `${plural(count, 'request was', 'requests were')} refused`;
  const advice = adviceOnRefused(reasons[0]);
  return [
    isNothingIn &&
      grave(
        `Nothing gets in, and ${were(inRow)}: ${inWords(reasons)}`,
        `If your provider sent them, its notifications do not arrive. ${advice}`,
        'refused',
      ),
    ...webhooks.map(({ webhook_id: id, refused, refused_for, last_refused_at: at }) =>
      grave(
        `Nothing of webhook ${id} gets in: ${inWords(refused_for)}`,
        `${were(refused)}, the last one ${duration(since(at, now))} ago. If its secret is the wrong one: ` +
          `\`npx hookkit webhooks import --id ${id} --secret-file FILE --replace\`. Else look at the reasons.`,
        'refused',
      ),
    ),
    latest.rejected > 0 &&
      !isNothingIn &&
      webhooks.length === 0 &&
      minor(`${were(rejected)} in the last 10 minutes: ${inWords(reasons)}`, advice, 'refused'),
  ];
}

function left({ events, quarantined, retiring }: Snapshot, now: number): Found {
  return [
    events.dead > 0 &&
      grave(
        `${plural(events.dead, 'event is', 'events are')} dead`,
        'Look at the errors, correct the cause, and replay the events; dismiss those that nobody needs.',
        'problems',
      ),
    quarantined > 0 &&
      minor(
        `${plural(quarantined, 'notification waits', 'notifications wait')} in quarantine`,
        'Store the secret of their webhook: then they are admitted. Drop those of no webhook of yours: ' +
          '`npx hookkit quarantine drop --webhook ID`.',
        'refused',
      ),
    ...retiring.map(({ webhook_id: id, retires_at: at }) =>
      minor(
        `The only secret of webhook ${id} ends in ${duration(Date.parse(at) - now)}, and its notifications still come`,
        `Store the next one before: \`npx hookkit webhooks import --id ${id} --secret-file FILE\`.`,
        'webhooks',
      ),
    ),
  ];
}
