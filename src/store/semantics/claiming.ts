import type { EventTables, Lease, Opening, ReadyEvent, WorkRow } from '../driver.ts';
import type { Claim, Claimed, ClaimRequest } from '../event-store.ts';
import { endStarts } from './ending.ts';
import { inOrder } from './in-order.ts';
import { take } from './recording.ts';

type Request = ClaimRequest & { readonly now: number };

/** How many waiting events become ready in one step, so that a large wave does not stall acks. */
const WAVE = 1000;

/** Takes in what is new in the ledger, and leases ready events to an owner. */
export async function claim(tables: EventTables, request: Request): Promise<Claimed> {
  const isBehind = (await take(tables)) ? undefined : true;
  return { ...(await claimTaken(tables, request)), isBehind };
}

/**
 * Leases ready events to an owner: of each free lane the oldest, lanes in the order of lane-order.ts, but for the `newest` last
 * ones of those that are live, and for `replayed` ones. Ends leases that ran out first, and wakes what waited until now.
 */
export async function claimTaken(tables: EventTables, request: Request): Promise<Claimed> {
  const { owner, limit, newest = 0, leaseMs, spareLost, now } = request;
  // Each of the first two is asked for all: the other, and the newest, may have less than their shares.
  const freeLanes = () =>
    inOrder(
      limit > 0 ? tables.freeLanes('oldest', limit) : [],
      limit > 0 ? tables.freeLanes('replayed', limit) : [],
      newest > 0 ? tables.freeLanes('newest', newest) : [],
    );
  const [lost, due, free] = await inOrder(
    spareLost ? [] : lostLeases(tables, request),
    tables.due(now, WAVE),
    freeLanes(),
  );
  const suspects = due
    .filter(({ lastError }) => lastError === LOST)
    .sort((one, other) => (one.nextAttemptAt ?? 0) - (other.nextAttemptAt ?? 0) || one.event - other.event);
  if (lost.length > 0) await recover(tables, lost, suspects.length, request);
  if (due.length > 0) await wake(tables, due, suspects, request);
  const resources = chosenOf(lost.length + due.length > 0 ? await freeLanes() : free, request);
  const starts = resources.length > 0 ? await startsOf(tables, resources, now) : [];
  const lease = { owner, until: now + leaseMs, startedAt: now };
  const [, , next] = await inOrder(
    starts.length > 0 && tables.countStarts(starts.map(({ row }) => row)),
    starts.length > 0 &&
      tables.lease(starts.map(({ row: { event, resource } }) => ({ event, resource, ...lease }))),
    tables.nextDue(now),
  );
  const dueInMs = next === undefined ? undefined : Math.max(0, next - now);
  return { claims: starts.map(({ claim }) => claim), dueInMs };
}

/** Which free lanes a claim takes. Where one share is not used up, the others have it. */
function chosenOf(
  [oldest, replays, newest]: readonly (readonly string[])[],
  { limit, replayed = 0 }: Request,
): string[] {
  const [live, behind, last] = [oldest ?? [], replays ?? [], newest ?? []];
  const share = behind.slice(0, replayed);
  const first = live.slice(0, Math.max(0, limit - last.length - share.length));
  return [...new Set([...first, ...share, ...last, ...live, ...behind])].slice(0, limit);
}

/** The start of an event: what changes of it in work, and the claim. */
interface Start {
  readonly row: ReadyEvent & { readonly late: boolean };
  readonly claim: Claim;
}

/** The next start of each of these lanes, which are free: of its oldest ready event. */
async function startsOf(
  tables: EventTables,
  resources: readonly string[],
  startedAt: number,
): Promise<Start[]> {
  const [found, states] = await inOrder(tables.oldestReady(resources), tables.states(resources));
  const ready = found.flatMap((event, index) => (event ? { event, state: states[index] ?? [] } : []));
  // The database was changed by hand: a lane with nothing in it goes away.
  const empty = resources.filter((_, index) => !found[index]);
  if (empty.length > 0) await tables.freeOrClose(empty);
  if (ready.length === 0) return [];
  const first = ready.flatMap(({ event }) => (event.late === undefined ? event : []));
  const answers = first.length > 0 ? await tables.newerHandled(first) : [];
  const late = new Map(first.map(({ event }, index) => [event, answers[index] ?? false]));
  return ready.map(({ event, state }) => {
    const row = {
      ...event,
      attempts: event.attempts + 1,
      late: event.late ?? late.get(event.event) ?? false,
    };
    return { row, claim: claimOf(row, startedAt, state) };
  });
}

function claimOf(row: ReadyEvent, startedAt: number, state: Claim['state']): Claim {
  const { event, interrupted, body, late, ...members } = row;
  return {
    ...members,
    place: event,
    status: 'running',
    starts: row.attempts + interrupted,
    handledAt: undefined,
    body: body ?? '',
    startedAt,
    late: late === true,
    state,
  };
}

const LOST = 'its process crashed, or did not renew its lease in time';

/** The leases that other owners no longer renew, and of the owner that asks those of events that it does not have. */
async function lostLeases(
  tables: EventTables,
  { owner, has, leaseMs, now }: Request,
): Promise<readonly Lease[]> {
  const [, lost] = await inOrder(
    // A lease that began in the future is from before the clock was set back, and would last for as long.
    tables.shortenLeases(owner, now, now + leaseMs),
    tables.lostLeases(owner, now, has),
  );
  return lost;
}

/**
 * Ends leases that were lost. A crash uses an attempt up, so an event that crashes its process ends as dead. What was lost at its
 * first attempt is ready at once, if two more are left. What was lost at a later one may have ended its process before: those become
 * ready one after the other, over the length of a lease, so that the one that did does not take the others along again.
 *
 * @param before how many others of these are due
 */
async function recover(
  tables: EventTables,
  lost: readonly Lease[],
  before: number,
  { leaseMs, maxAttempts, now }: Request,
): Promise<void> {
  const suspects = lost.filter(({ attempts }) => attempts > 1 || maxAttempts - attempts < 2);
  const turns = new Map(suspects.map((lease, index) => [lease, before + index]));
  await endStarts(
    tables,
    lost.map((lease) => {
      const status = lease.attempts >= maxAttempts ? 'dead' : 'pending';
      const turn = turns.get(lease) ?? 0;
      const waits = status === 'pending' && turn > 0;
      const afterMs = waits ? waitOf(turn, before + suspects.length, leaseMs) : undefined;
      return { lease, now, settlement: { status, outcome: 'lost', error: LOST, afterMs } };
    }),
  );
}

/**
 * Makes the events ready whose next attempt is due. Of those that wait for their turn after a crash only the first: the process may have
 * been away for longer than their turns were apart, and then the others would run beside it, and end with it. They wait again.
 */
async function wake(
  tables: EventTables,
  due: readonly (WorkRow & Opening)[],
  suspects: readonly WorkRow[],
  { leaseMs, now }: Request,
): Promise<void> {
  const putOff = suspects.slice(1).map((row, index) => {
    return { ...row, nextAttemptAt: now + waitOf(index + 1, suspects.length, leaseMs) };
  });
  const waiting = new Set(putOff.map(({ event }) => event));
  const ready = due.filter(({ event }) => !waiting.has(event));
  await inOrder(
    putOff.length > 0 && tables.changeWork(putOff),
    tables.makeReady(ready.map(({ event }) => event)),
    tables.openLanes(ready),
  );
}

/** How many milliseconds an event waits for its turn, where so many have theirs over the length of a lease: none only for the first, 0. */
function waitOf(turn: number, turns: number, leaseMs: number): number {
  return Math.ceil((turn * leaseMs) / turns);
}
