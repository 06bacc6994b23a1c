import type { Clock } from '../base/clock.ts';
import type { EventStore } from '../store/event-store.ts';

interface Retirement {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly graceMs: number;
}

/**
 * Retires all secrets of a webhook once the grace time is over. A secret that retires already keeps the earlier time.
 * @returns when the last of them retires; undefined where there is none
 */
export async function retireSecrets(
  id: string,
  { store, clock, graceMs }: Retirement,
): Promise<number | undefined> {
  const until = clock.now() + graceMs;
  let last: number | undefined;
  for (const { webhookId, secret, retireAt = Number.POSITIVE_INFINITY } of await store.secrets()) {
    if (webhookId !== id) continue;
    if (until < retireAt) await store.retireSecret(id, secret, until);
    last = Math.max(last ?? 0, Math.min(until, retireAt));
  }
  return last;
}
