import type { EventTables, ReadyEvent } from '../driver.ts';
import type { Claim, Claimed, ClaimRequest } from '../event-store.ts';
import { endStarts } from './ending.ts';
import { take } from './recording.ts';

type Request = ClaimRequest & { readonly now: number };

/** How many waiting events become ready in one step, so that a large wave does not stall acks. */
const WAVE = 1000;

/**
 * Leases ready events to an owner: of each free lane the oldest, lanes in the order of their oldest events but for the
 * `newest` last ones. Takes in what is new in the ledger first, ends leases that ran out, and wakes what waited until now.
 */
export async function claim(tables: EventTables, request: Request): Promise<Claimed> {
  const { owner, limit, newest = 0, leaseMs, spareLost, now } = request;
  await take(tables);
  if (!spareLost) await recoverLost(tables, request);
  await wake(tables, now);
  const lanes = async (order: 'oldest' | 'newest', places: number): Promise<Claim[]> => {
    if (places === 0) return [];
    const resources = await tables.freeLanes(order, places);
    const found = resources.length > 0 ? await tables.oldestReady(resources) : [];
    const ready = found.filter((event) => event !== undefined);
    // The database was changed by hand: a lane with nothing in it goes away.
    const empty = resources.filter((_, index) => !found[index]);
    if (empty.length > 0) await tables.freeOrClose(empty);
    return ready.length > 0 ? start(tables, ready, { owner, until: now + leaseMs, startedAt: now }) : [];
  };
  const oldest = await lanes('oldest', limit - newest);
  const claims = oldest.concat(await lanes('newest', newest)); // those that are still free
  const due = await tables.nextDue(now);
  return { claims, dueInMs: due === undefined ? undefined : Math.max(0, due - now) };
}

/** Leases events that are ready, and counts their starts. */
async function start(
  tables: EventTables,
  ready: readonly ReadyEvent[],
  lease: { readonly owner: string; readonly until: number; readonly startedAt: number },
): Promise<Claim[]> {
  const first = ready.filter(({ late }) => late === undefined);
  const answers = first.length > 0 ? await tables.newerHandled(first) : [];
  const late = new Map(first.map(({ event }, index) => [event, answers[index] ?? false]));
  const states = await tables.states(ready.map(({ resource }) => resource));
  const claims = ready.map(({ kind: _, ...row }, index) => {
    const attempts = row.attempts + 1;
    return {
      row: { ...row, attempts, late: row.late ?? late.get(row.event) ?? false },
      state: states[index] ?? [],
    };
  });
  await tables.countStarts(claims.map(({ row }) => row));
  await tables.lease(ready.map(({ event, resource }) => ({ event, resource, ...lease })));
  return claims.map(({ row, state }, index) =>
    claimOf({ ...row, kind: ready[index]?.kind ?? '' }, lease.startedAt, state),
  );
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

/**
 * Ends the leases that other owners no longer renew; the owner that asks is alive, and its events still run. A crash
 * uses an attempt up, so an event that crashes its process ends as dead. Events that were lost together become ready one
 * after the other, over the length of a lease: the one that ended its process does not take the others along again.
 */
async function recoverLost(
  tables: EventTables,
  { owner, leaseMs, maxAttempts, now }: Request,
): Promise<void> {
  // A lease that began in the future is from before the clock was set back, and would last for as long.
  await tables.shortenLeases(owner, now, now + leaseMs);
  const lost = await tables.lostLeases(owner, now);
  if (lost.length === 0) return;
  await endStarts(
    tables,
    lost.map((lease, index) => {
      const status = lease.attempts >= maxAttempts ? 'dead' : 'pending';
      const waits = status === 'pending' && index > 0;
      const afterMs = waits ? Math.floor((index * leaseMs) / lost.length) : undefined;
      return { lease, now, settlement: { status, outcome: 'lost', error: LOST, afterMs } };
    }),
  );
}

/** Makes the events ready whose next attempt is due. */
async function wake(tables: EventTables, now: number): Promise<void> {
  const due = await tables.due(now, WAVE);
  if (due.length === 0) return;
  await tables.makeReady(due.map(({ event }) => event));
  await tables.openLanes(due);
}
