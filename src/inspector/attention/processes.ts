import type { Snapshot } from '../api/stats.ts';
import { duration, plural } from '../pages/words.ts';
import { type Found, since } from './concern.ts';

const PATH = './#instances';
/** So many events are named. */
const MOST_NAMED = 3;
/** A start takes so long at most. */
const STARTED_MS = 120_000;
const FORGET = 'If it is gone for good, forget it on the overview.';

/** Whether the processes live, and can work. Their times go by the clock of the store. */
export function processes(snapshot: Snapshot): Found {
  const { instance, instances, restarts, can_record: canRecord } = snapshot;
  const canRead = snapshot.can_read_secrets || snapshot.database_flaw?.fault === 'key_gone';
  const now = Date.parse(snapshot.now);
  const isRestarting = (machine: string) => restarts.some(({ of }) => of === machine);
  // One that cannot record may live, and cannot say so.
  const away = canRecord ? instances.filter((one) => one.away && !isRestarting(one.machine)) : [];
  return [
    instance === null &&
      instances.every(({ left_at: left }) => left !== null) && {
        fault: 'no_server',
        grave: true,
        text: 'No server runs on this database',
        advice: 'Nothing is received or handled: `npm start`.',
        path: PATH,
      },
    ...restarts.map(({ of, crashes, at_work: work }) => ({
      fault: 'restarts',
      of,
      grave: true,
      text: `Instance ${of} ended ${crashes} times in 10 minutes without a stop, and was started again${atWork(work)}`,
      advice: `Its log says why, or the system: memory, a signal. ${work[0] ? mending(work[0].id) : ''}`,
      path: work[0] ? `events/${work[0].id}` : PATH,
    })),
    ...away.map(({ name, seen_at: at, at_work: work }) => ({
      fault: 'away',
      of: name,
      grave: true,
      text: `Instance ${name} was last seen ${duration(since(at, now))} ago${atWork(work)}`,
      advice:
        'It stands still or has crashed: look at its log, and start it again. ' +
        `${work[0] ? 'A handler that blocks the event loop looks like this. ' : ''}${FORGET}`,
      path: PATH,
    })),
    fewer(snapshot, now),
    ...snapshot.clocks_off.map(({ instance: name, ms }) => ({
      fault: 'clock',
      of: name ?? '',
      grave: true,
      text: clockText(name, ms),
      advice:
        'Times of events, retries and reports are wrong until NTP sets it: `timedatectl`. If all instances are off by as much, the clock of ' +
        "the database is the wrong one; if events alone say so, it may be their sender's.",
      path: PATH,
    })),
    !canRead && {
      fault: 'secrets_unreadable',
      grave: true,
      text: 'The stored secrets cannot be read',
      advice:
        'Processes go on with those that they hold. If they were sealed under another key, start again with that one.',
      path: 'webhooks',
    },
  ];
}

function atWork(work: Snapshot['restarts'][number]['at_work']): string {
  const named = work
    .slice(0, MOST_NAMED)
    .map(({ id, kind, site_id: site }) => `${id} (${kind}, site ${site})`);
  if (work.length > MOST_NAMED) named.push(`${work.length - MOST_NAMED} more`);
  return work.length === 0 ? '' : `; it had at work: ${named.join(', ')}`;
}

const mending = (id: string) =>
  `If it is the handler, \`npx hookkit handlers try ${id}\` shows it: correct it, or dismiss the event: ` +
  `\`npx hookkit events dismiss --id ${id} --reason REASON\`.`;

function clockText(name: string | null, ms: number): string {
  const off = `${duration(Math.abs(ms))} ${ms < 0 ? 'behind' : 'ahead'}`;
  return name === null
    ? `The clock of this machine is ${off}: the newest events are from its future`
    : `The clock of instance ${name} is ${off}, compared with that of the database`;
}

/** Whether fewer run than are to, or than did before. Those that are away are told already. */
function fewer({ instances, instances_before: before, instances_expected: expected }: Snapshot, now: number) {
  const left = instances.filter((one) => one.left_at !== null);
  const present = instances.length - left.length;
  const live = instances.filter((one) => one.left_at === null && !one.away).length;
  if (present === 0 || present >= (expected ?? before)) return false;
  const lately = instances.filter((one) => since(one.left_at ?? one.seen_at, now) < STARTED_MS).length;
  const isSettled = instances.some((one) => since(one.started_at, now) > STARTED_MS);
  const gone = left.map(({ name, left_at: at }) => `${name} left ${duration(since(at, now))} ago. `).join('');
  return {
    fault: 'fewer',
    grave: expected !== null && lately < expected && isSettled,
    text:
      `${plural(live, 'receiver runs', 'receivers run')}, ` +
      `${expected === null ? `${before} did in the last hour` : `and INSTANCES is ${expected}`}`,
    advice: `${gone}Start what is missing. ${expected === null ? FORGET : 'If fewer are to run, correct INSTANCES.'}`,
    path: PATH,
  };
}
