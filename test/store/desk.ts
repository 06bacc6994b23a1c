import type { Claim, EventStore, Settlement, VerifiedNotification } from '../../src/store/event-store.ts';
import type { EventId } from '../../src/store/stored.ts';
import { LEASE_MS, claims as polled } from '../support/claiming.ts';

export { LEASE_MS, polled };

export const NOON = Date.UTC(2026, 10, 27, 12);

let made = 0;

/** A notification that nobody has seen before. @param seconds of its event time, after noon */
export function notified(
  resource = 'media:one',
  seconds = 0,
  more: Partial<VerifiedNotification> = {},
): VerifiedNotification {
  const eventTime = NOON + seconds * 1000;
  const id = `${eventTime.toString(36)}-${(made++).toString(16).padStart(20, '0')}` as EventId;
  const rest = { kind: 'media_available', webhookId: 'webhook1', siteId: 'site1', body: `{"id":"${id}"}` };
  return { id, resource, eventTime, ...rest, ...more };
}

/** Records events, each in a commit of its own, and returns them. */
export async function recorded(store: EventStore, ...list: VerifiedNotification[]) {
  for (const one of list) await store.queue.record(one);
  return list;
}

/** Claims resources. Other events that are ready are given back, which counts as a start of theirs. */
export async function claimed(store: EventStore, ...names: string[]): Promise<readonly Claim[]> {
  const claims = await polled(store);
  const others = claims.filter(({ resource }) => !names.includes(resource));
  await Promise.all(others.map((claim) => store.queue.settle(claim, RELEASED)));
  return claims.filter(({ resource }) => names.includes(resource));
}

export async function claimedOne(store: EventStore, resource: string): Promise<Claim> {
  const [claim] = await claimed(store, resource);
  if (!claim) throw new Error(`nothing of ${resource} is ready`);
  return claim;
}

const run = { startedAt: NOON, ms: 3, counts: true } as const;
export const HANDLED: Settlement = { ...run, status: 'handled', outcome: 'handled' };
const RELEASED: Settlement = { ...run, status: 'pending', outcome: 'interrupted', counts: false };
const error = 'Error: no';
export const FAILED: Settlement = { ...run, status: 'pending', outcome: 'error', error, afterMs: 1000 };

/** For `recover` by a process that holds nothing: an event is dead after so many attempts. */
export const MOST = { held: [], maxAttempts: 40 };

export const statusOf = async (store: EventStore, id: string) => (await store.queue.event({ id }))?.status;

/** A subscriber. */
export const SEARCH = { subscriber: 'search' };

/** Has a subscriber's events made. @returns the ids of the notifications that it has events of, in the order in which these were made */
export async function given(store: EventStore, subscriber = 'search'): Promise<readonly string[]> {
  while ((await store.queue.wake({ subscriber })).length > 0);
  const { events } = await store.queue.search({ filter: { subscriber }, limit: 5000, order: 'oldest' });
  return events.map(({ id }) => id.replace(`@${subscriber}`, ''));
}

export const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);
