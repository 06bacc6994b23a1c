import type { Instance } from '../../store/event-store.ts';
import { HOUR_MS, type Known, LEAST_AHEAD, RECENT_MS } from '../api/stats.ts';
import { duration, plural } from '../pages/words.ts';
import { MINUTE_MS } from '../watch/watch.ts';
import { type Found, listed, since } from './concern.ts';

/** Fewer lives that ended without a stop, one after the other, may be an accident. */
const LEAST_CRASHES = 3;
/** A start takes so long at most. */
const STARTED_MS = 120_000;
const FORGET = 'If it is gone for good, forget it on the overview.';

/** Whether the processes live, and can work. Their times are by the clock of the store. */
export function processes(known: Known): Found {
  const { instance, lives, problem, secrets, disk } = known;
  const machines = [...Map.groupBy(lives, ({ machine }) => machine)];
  const restarts = machines
    .map(([of, all]) => ({ of, chain: chainOf(all) }))
    .filter(({ chain }) => chain.length > 0);
  const isRestarting = (machine: string) => restarts.some(({ of }) => of === machine);
  // One that cannot record may live, and cannot say so.
  const isAway = ({ state, machine }: Instance) =>
    state === 'away' && problem === undefined && !isRestarting(machine);
  return [
    instance === null &&
      lives.every(({ state }) => state === 'left' || state === 'replaced') && {
        fault: 'no_server',
        text: 'No receiver runs on this database',
        advice: 'No notification is recorded or handled. Start a receiver: `npm start`.',
      },
    ...restarts.map(({ of, chain }) => {
      const [events, id] = atWork(chain, known);
      return {
        fault: 'restarts',
        of,
        text: `Instance ${of} ended ${chain.length} times in 10 minutes without a stop, and was started again${events}`,
        advice: `Its log says why, or the log of the system: memory, a signal. ${id ? mending(id) : ''}`,
        ...(id && { path: `events/${id}` }),
      };
    }),
    ...lives.filter(isAway).map((one) => {
      const [events] = atWork([one], known);
      const blocked = events && 'A handler that blocks the event loop looks like this. ';
      return {
        fault: 'away',
        of: one.name,
        since: one.seenAt,
        text: `Instance ${one.name} was last seen ${duration(since(one.seenAt, one.now))} ago${events}`,
        advice: `It stands still or has crashed: look at its log, and start it again. ${blocked}${FORGET}`,
      };
    }),
    fewer(known),
    ...clocksOff(known).map(({ of, ms }) => {
      const off = `${duration(Math.abs(ms))} ${ms < 0 ? 'behind' : 'ahead'}`;
      const [whose, other] = of
        ? [`instance ${of}`, 'that of the database']
        : ['this machine', 'the newest events'];
      return {
        fault: 'clock',
        of,
        text: `The clock of ${whose} is ${off}, compared with ${other}`,
        advice:
          'Times of events, retries and reports are wrong until NTP sets it: `timedatectl`. If all instances are off by as much, the clock of ' +
          'the database is the wrong one; if only the events differ, it may be the clock of their sender.',
      };
    }),
    !Array.isArray(secrets) &&
      disk.flaw?.fault !== 'key_gone' && {
        fault: 'secrets_unreadable',
        text: `The stored secrets cannot be read: ${secrets}`,
        advice: 'Processes go on with the secrets that they have read. `npx hookkit doctor` says more.',
        path: 'webhooks',
      },
  ];
}

/**
 * The lives of a machine that ended without a stop in the last ten minutes, each after the one before: several may end at once. None if
 * that is over: for a minute, or longer where they ended more rarely.
 */
function chainOf(lives: readonly Instance[]): readonly Instance[] {
  const chain: Instance[] = [];
  for (const life of lives.toSorted((one, other) => one.seenAt - other.seenAt)) {
    const hasCrashed =
      life.leftAt === undefined && life.state !== 'live' && life.seenAt > life.now - RECENT_MS;
    if (hasCrashed && life.startedAt > (chain.at(-1)?.seenAt ?? 0)) chain.push(life);
  }
  const [first, last] = [chain[0], chain.at(-1)];
  if (!first || !last || chain.length < LEAST_CRASHES) return [];
  const usual = (last.seenAt - first.seenAt) / (chain.length - 1);
  return last.now - last.seenAt < Math.max(MINUTE_MS, 1.5 * usual) ? chain : [];
}

/**
 * The events that lives had at work when they ended, in words: those that were lost most often, first those of the site and kind that most
 * of them have. And the id of the first.
 */
function atWork(ended: readonly Instance[], { work }: Known): readonly [string, string | undefined] {
  const theirs = work.filter(({ instance, until }) =>
    ended.some(({ name, seenAt }) => name === instance && until >= seenAt),
  );
  const events = [...Map.groupBy(theirs, ({ id }) => id)];
  const most = Math.max(...events.map(([, times]) => times.length));
  const oftenest = events.filter(([, times]) => times.length === most).flatMap(([, [one]]) => one ?? []);
  const alike = [...Map.groupBy(oftenest, ({ kind, siteId }) => `${kind} ${siteId}`).values()];
  const lost = alike.toSorted((one, other) => other.length - one.length).flat();
  const told = listed(lost.map(({ id, kind, siteId }) => `${id} (${kind}${siteId && `, site ${siteId}`})`));
  return [told && `; it was handling: ${told}`, lost[0]?.id];
}

const mending = (id: string) =>
  `If the handler is the cause, \`npx hookkit handlers try ${id}\` shows it: correct it, or dismiss the event: ` +
  `\`npx hookkit events dismiss --id ${id} --reason REASON\`.`;

/** Clocks that differ from the store's by more than a minute, and how far they are ahead; `of` is empty where the newest events say so. */
export function clocksOff({ lives, newest, now }: Pick<Known, 'lives' | 'newest' | 'now'>) {
  const off = lives.filter(({ state, aheadMs }) => state === 'live' && Math.abs(aheadMs) > MINUTE_MS);
  if (off.length > 0) return off.map(({ name, aheadMs }) => ({ of: name, ms: aheadMs }));
  const recent = newest.filter(({ receivedAt }) => receivedAt > now - RECENT_MS);
  const behind = Math.min(...recent.map(({ eventTime, receivedAt }) => eventTime - receivedAt));
  return recent.length >= LEAST_AHEAD && behind > MINUTE_MS ? [{ of: '', ms: -behind }] : [];
}

/** Whether fewer receivers run than should, or than an hour or ten minutes ago. Another sentence tells of those that are away. */
function fewer({ lives, config }: Known) {
  const { INSTANCES: expected } = config;
  const now = lives[0]?.now ?? 0;
  const inState = (...states: readonly string[]) => lives.filter(({ state }) => states.includes(state));
  const present = inState('live', 'away').length;
  const ranAt = (at: number) =>
    lives.filter(({ startedAt, seenAt, leftAt = seenAt }) => startedAt <= at && leftAt >= at).length;
  const before = Math.max(ranAt(now - HOUR_MS), ranAt(now - RECENT_MS));
  if (present === 0 || present >= (expected ?? before)) return false;
  const here = inState('live', 'away', 'left');
  const lately = here.filter(({ seenAt, leftAt = seenAt }) => now - leftAt < STARTED_MS).length;
  const isSettled = here.some(({ startedAt }) => now - startedAt > STARTED_MS);
  const gone = inState('left').map(
    ({ name, leftAt }) => `${name} left ${duration(since(leftAt, now))} ago. `,
  );
  const [why, cure] =
    expected === undefined
      ? [`and ${before} ran in the last hour`, FORGET]
      : [`and INSTANCES is ${expected}`, 'If fewer should run, correct INSTANCES.'];
  return {
    fault: 'fewer',
    grave: expected !== undefined && lately < expected && isSettled,
    text: `${plural(inState('live').length, 'receiver runs', 'receivers run')}, ${why}`,
    advice: `${gone.join('')}Start the missing ones. ${cure}`,
  };
}
