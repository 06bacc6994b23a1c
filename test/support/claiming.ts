import type { Claim, ClaimRequest, EventStore, Settlement } from '../../src/store/event-store.ts';
import { only, present } from './only.ts';

export const LEASE_MS = 30_000;

/** The result of a run that began and ended when the tests did. */
const run = { startedAt: Date.now(), ms: 0, counts: true } as const;

export const HANDLED: Settlement = { ...run, status: 'handled', outcome: 'handled' };
export const DEAD: Settlement = { ...run, status: 'dead', outcome: 'failed', error: 'never' };
export const SKIPPED: Settlement = { ...run, status: 'skipped', outcome: 'skipped', error: 'not for us' };

/** A settlement that waits for the next attempt so many milliseconds; without them, not at all. */
export function waiting(afterMs?: number): Settlement {
  return { ...run, status: 'pending', outcome: 'error', error: 'not yet', afterMs };
}

/** Claims what is ready of each resource, for the dispatcher of this process. */
export async function claims(
  store: EventStore,
  given: Partial<ClaimRequest> = {},
): Promise<readonly Claim[]> {
  const request = { owner: 'one', oldest: 100, newest: 0, leaseMs: LEASE_MS };
  return (await store.queue.claim({ ...request, ...given })).claims;
}

/** The one event that is ready. */
export async function claimOne(store: EventStore, given: Partial<ClaimRequest> = {}): Promise<Claim> {
  return only(await claims(store, given));
}

/** Ends everything that is ready, resource by resource, in the same way; tells how many events. */
export async function settleAll(store: EventStore, settlement: Settlement): Promise<number> {
  let settled = 0;
  for (;;) {
    const ready = await claims(store);
    if (ready.length === 0) return settled;
    await Promise.all(ready.map((claim) => store.queue.settle(claim, settlement)));
    settled += ready.length;
  }
}

/**
 * Has an attempt of a ready event store results of steps, JSON by name. Then all ready events end alike; by default, they
 * are ready again.
 */
export async function doSteps(
  store: EventStore,
  id: string,
  steps: Readonly<Record<string, string>>,
  settlement = waiting(),
): Promise<void> {
  const ready = await claims(store);
  const claim = present(ready.find((one) => one.id === id));
  for (const [name, result] of Object.entries(steps)) await store.queue.saveStep({ ...claim, name, result });
  for (const one of ready) await store.queue.settle(one, settlement);
}
