import type { EventTables, Lease } from '../driver.ts';
import type { EventId } from '../event-id.ts';
import type { DoneStep } from '../event-search.ts';
import type { Claim, Settlement } from '../event-store.ts';
import { type End, endStarts } from './ending.ts';

/** What tells a claim from every other. */
export type ClaimKey = Pick<Claim, 'place' | 'resource' | 'starts' | 'replays' | 'startedAt'>;

/** The key of a claim, without the body of its event. */
export function keyOf({ place, resource, starts, replays, startedAt }: ClaimKey): ClaimKey {
  return { place, resource, starts, replays, startedAt };
}

/** A claim, and who says to have it. */
export interface Holding {
  readonly claim: ClaimKey;
  readonly owner: string;
}

export interface Settling extends Holding {
  readonly settlement: Settlement;
  readonly now: number;
}

/** The leases of claims; undefined where the claim was settled, released or taken over. */
async function held(tables: EventTables, holdings: readonly Holding[]): Promise<(Lease | undefined)[]> {
  const asked = holdings.map(({ claim: { resource }, owner }) => ({ resource, owner }));
  const leases = await tables.leases(asked);
  return holdings.map(({ claim: { place, starts, replays, startedAt } }, index) => {
    const lease = leases[index];
    // The owner may have lost the lease, and hold the event again in a later start; or in one of the same number, where it gave
    // the event back before it began.
    const isCurrent =
      lease?.event === place &&
      lease.attempts + lease.interrupted === starts &&
      lease.replays === replays &&
      lease.startedAt === startedAt;
    return isCurrent ? lease : undefined;
  });
}

/** Ends claims. @returns for each whether its lease was still the owner's; if not, nothing of it is changed */
export async function settle(tables: EventTables, settlings: readonly Settling[]): Promise<boolean[]> {
  const { isHeld, ends } = await endsOf(tables, settlings);
  await endStarts(tables, ends);
  return isHeld;
}

/** What settlements end: what is to be recorded, and for each settlement whether its lease is still the owner's. */
export async function endsOf(
  tables: EventTables,
  settlings: readonly Settling[],
): Promise<{ readonly isHeld: boolean[]; readonly ends: readonly End[] }> {
  if (settlings.length === 0) return { isHeld: [], ends: [] };
  const leases = await held(tables, settlings);
  const ended = new Set<number>();
  const ends = settlings.map(({ settlement, now }, index) => {
    const lease = leases[index];
    if (!lease || ended.has(lease.event)) return undefined; // the first of two ends counts
    ended.add(lease.event);
    return { lease, settlement, now };
  });
  return { isHeld: ends.map((end) => end !== undefined), ends: ends.filter((end) => end !== undefined) };
}

export async function holds(tables: EventTables, holding: Holding): Promise<boolean> {
  const [lease] = await held(tables, [holding]);
  return lease !== undefined;
}

/** The stored result of a step; undefined if there is none. */
export async function step(
  tables: EventTables,
  { id, name }: { readonly id: EventId; readonly name: string },
): Promise<Pick<DoneStep, 'result'> | undefined> {
  const [event] = await tables.placesOf([id]);
  const [stored] = event === undefined ? [] : await tables.steps([{ event, name }]);
  return stored;
}

/** Stores the result of a step under a lease, unless there is one. @returns the stored result */
export async function saveStep(
  tables: EventTables,
  { name, result, ...holding }: Holding & DoneStep,
): Promise<Pick<DoneStep, 'result'> | undefined> {
  if (await holds(tables, holding)) await tables.addStep({ event: holding.claim.place, name, result });
  const [stored] = await tables.steps([{ event: holding.claim.place, name }]);
  return stored;
}
