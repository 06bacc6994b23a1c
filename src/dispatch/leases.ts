import { repeat } from '../base/clock.ts';
import type { Parts } from '../observer.ts';
import type { Claim, Of } from '../store/event-store.ts';
import { giveUp, type Start } from './run-handler.ts';

/** An event that is leased, from its claim until its result is stored. */
export interface Leased extends Start {
  readonly claim: Claim;
  /** when this process asked for the lease or last renewed it, by the monotonic clock: the lease lasts for LEASE_MS from then at least */
  leasedAt: number;
}

interface LeasesOptions extends Parts, Of {
  /** the events of the subscriber that this process has leased */
  readonly all: ReadonlySet<Leased>;
  /** told why leases could not be renewed; the next look renews them again */
  readonly onError: (error: unknown) => void;
}

/** How old a lease may become before it is renewed. */
export const renewalMs = (leaseMs: number) => leaseMs / 3;

/**
 * Renews leases of events whose handlers run, or whose results wait to be stored. It aborts a handler whose lease is lost, or is about to
 * run out: from then on another process may run its event.
 * @returns a function that ends it
 */
export function keepLeases({ store, clock, config, subscriber, all, onError }: LeasesOptions): () => void {
  const leaseMs = config.LEASE_MS;
  const lookMs = renewalMs(leaseMs) / 10;
  let renewing: Promise<void> | undefined;

  const renew = async (due: readonly Leased[]): Promise<void> => {
    const askedAt = clock.monotonic();
    const list = due.map(({ claim: { lease, resource, seq } }) => ({ lease, resource, seq }));
    const held = new Set(await store.queue.renew({ subscriber, list, leaseMs }));
    for (const leased of due) {
      if (held.has(leased.claim.lease)) leased.leasedAt = askedAt;
      else if (all.has(leased)) giveUp(leased, 'the lease is lost');
    }
  };
  const ended = () => {
    renewing = undefined;
  };
  return repeat(clock, lookMs, async () => {
    const now = clock.monotonic();
    const before = now - leaseMs + 2 * lookMs; // a look may come late: the event loop is busy at times
    for (const leased of all)
      if (leased.leasedAt <= before) giveUp(leased, 'the lease was not renewed in time');
    const due = [...all].filter(({ leasedAt }) => leasedAt <= now - renewalMs(leaseMs));
    if (due.length > 0 && !renewing) renewing = renew(due).catch(onError).finally(ended);
    return lookMs;
  });
}
