import type { Instance, StoredEvent } from '../../store/event-store.ts';
import { iso, isoOrNull } from '../../store/queue/lists/event-json.ts';
import type { Inspected } from './endpoint.ts';

const MINUTE_MS = 60_000;
const RECENT_MS = 10 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** So many lives that ended without a stop, one after the other, are no accident. */
const LEAST_CRASHES = 3;
/** So many events in a row from the future are no mistake of a sender. */
export const LEAST_AHEAD = 3;

/**
 * What is known of the processes, by the clock of the store, which is `now`. `instances`: the last life of each; `at_work`: the events that
 * one which is away had at work, the last one started first. `instances_before`: how many ran an hour or ten minutes ago, the larger number.
 * `restarts`: names or machines whose processes end without a stop and start again, and the events that were lost most often. `clocks_off`:
 * clocks that differ from the store's by more than a minute; `ms`: how far they are ahead; `instance` is null where the newest events say so.
 * @param own the name of this process @param newest the newest events
 */
export async function instancesOf(
  { store, clock, config }: Pick<Inspected, 'store' | 'clock' | 'config'>,
  own: string | null,
  newest: readonly StoredEvent[],
) {
  const lives = await store.reports.instances();
  const now = lives[0]?.now ?? clock.now();
  const isAway = ({ name, state }: Instance) => state === 'away' && name !== own; // this one lives, even if it cannot write
  const chains = Array.from(
    Map.groupBy(lives, ({ machine }) => machine),
    ([of, all]) => ({
      of,
      chain: chainOf(all, now),
    }),
  ).filter(({ chain }) => chain.length > 0);
  const work = chains.length > 0 || lives.some(isAway) ? await store.reports.atWork() : [];
  /** The events that lives had at work when they ended: those that were lost most often. */
  const workOf = (ended: readonly Instance[]) => {
    const isTheirs = ({ instance, until }: (typeof work)[number]) =>
      ended.some(({ name, seenAt }) => name === instance && until >= seenAt);
    const events = [...Map.groupBy(work.filter(isTheirs), ({ id }) => id).values()];
    const most = Math.max(...events.map(({ length }) => length));
    const lost = events.filter(({ length }) => length === most).flatMap(([one]) => one ?? []);
    return lost.map(({ id, kind, siteId: site_id }) => ({ id, kind, site_id }));
  };
  const ranAt = (at: number) =>
    lives.filter(({ startedAt, seenAt, leftAt = seenAt }) => startedAt <= at && leftAt >= at).length;
  const present = lives.filter(({ state }) => state !== 'replaced');
  return {
    now: iso(now),
    instances: present.map((one) => ({
      name: one.name,
      machine: one.machine,
      version: one.version,
      started_at: iso(one.startedAt),
      seen_at: iso(one.seenAt),
      left_at: isoOrNull(one.leftAt),
      running: one.running,
      away: isAway(one),
      at_work: isAway(one) ? workOf([one]) : [],
    })),
    instances_before: Math.max(ranAt(now - HOUR_MS), ranAt(now - RECENT_MS)),
    instances_expected: config.INSTANCES ?? null,
    restarts: chains.map(({ of, chain }) => ({ of, crashes: chain.length, at_work: workOf(chain) })),
    clocks_off: clocksOff(lives, newest, now),
  };
}

/**
 * The lives that ended without a stop in the last ten minutes, each after the one before: several processes of a machine may end at once.
 * None if that is over: for a minute, or longer where they ended more rarely.
 */
function chainOf(lives: readonly Instance[], now: number): readonly Instance[] {
  const chain: Instance[] = [];
  for (const life of lives.toSorted((one, other) => one.seenAt - other.seenAt)) {
    const hasCrashed = life.leftAt === undefined && life.state !== 'live' && life.seenAt > now - RECENT_MS;
    if (hasCrashed && life.startedAt > (chain.at(-1)?.seenAt ?? 0)) chain.push(life);
  }
  const [first = 0, last = 0] = [chain[0]?.seenAt, chain.at(-1)?.seenAt];
  const usual = (last - first) / (chain.length - 1);
  const goesOn = now - last < Math.max(MINUTE_MS, 1.5 * usual);
  return goesOn && chain.length >= LEAST_CRASHES ? chain : [];
}

function clocksOff(lives: readonly Instance[], newest: readonly StoredEvent[], now: number) {
  const off = lives
    .filter(({ state, aheadMs }) => state === 'live' && Math.abs(aheadMs) > MINUTE_MS)
    .map(({ name, aheadMs }) => ({ instance: name, ms: aheadMs }));
  const recent = newest.filter(({ receivedAt }) => receivedAt > now - RECENT_MS);
  const behind = Math.min(...recent.map(({ eventTime, receivedAt }) => eventTime - receivedAt));
  const areAhead = recent.length >= LEAST_AHEAD && behind > MINUTE_MS;
  return areAhead && off.length === 0 ? [{ instance: null, ms: -behind }] : off;
}
