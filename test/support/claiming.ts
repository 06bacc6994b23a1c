import type { Claim, ClaimRequest, EventStore, Settlement } from '../../src/store/event-store.ts';
import { only, present } from './only.ts';

export const LEASE_MS = 30_000;
export const MAX_ATTEMPTS = 3;

export const HANDLED: Settlement = { status: 'handled', outcome: 'handled' };
export const DEAD: Settlement = { status: 'dead', outcome: 'failed', error: 'never' };
export const SKIPPED: Settlement = { status: 'skipped', outcome: 'skipped', error: 'not for us' };

/** What a stop makes of a run that it cut short. */
export const RELEASED: Settlement = { status: 'pending', outcome: 'interrupted', isUncounted: true };

/** A settlement that waits for the next attempt so many milliseconds; without them, not at all. */
export function waiting(afterMs?: number): Settlement {
  return { status: 'pending', outcome: 'error', error: 'not yet', afterMs };
}

/** What a request says that a test does not. */
export function request(given: Partial<ClaimRequest> = {}): ClaimRequest {
  return { owner: 'one', limit: 100, leaseMs: LEASE_MS, maxAttempts: MAX_ATTEMPTS, ...given };
}

export async function claims(
  store: EventStore,
  given: Partial<ClaimRequest> = {},
): Promise<readonly Claim[]> {
  return (await store.claim(request(given))).claims;
}

/** The one event that is ready. */
export async function claimOne(store: EventStore, given: Partial<ClaimRequest> = {}): Promise<Claim> {
  return only(await claims(store, given));
}

/** Ends everything that is ready, resource by resource, in the same way; tells how many events. */
export async function settleAll(store: EventStore, settlement: Settlement): Promise<number> {
  let settled = 0;
  for (;;) {
    const ready = await claims(store, { owner: 'settles all' });
    if (ready.length === 0) return settled;
    await Promise.all(ready.map((claim) => store.settle(claim, 'settles all', settlement)));
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
  steps: Readonly<Record<string, string | null>>,
  settlement = waiting(),
): Promise<void> {
  const owner = 'does steps';
  const ready = await claims(store, { owner });
  const claim = present(ready.find((one) => one.id === id));
  for (const [name, result] of Object.entries(steps)) await store.saveStep(claim, owner, { name, result });
  for (const one of ready) await store.settle(one, owner, settlement);
}
