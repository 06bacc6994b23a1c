import { Option } from 'commander';
import type { Clock } from '../../base/clock.ts';
import type { EventStore } from '../../store/event-store.ts';
import { duration } from '../duration.ts';

/** How long an old secret goes on verifying, unless told otherwise. */
export function graceOption(): Option {
  return new Option('--grace <time>', 'how long its secret goes on verifying')
    .argParser(duration)
    .default(600_000, '10m');
}

interface Retirement {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly graceMs: number;
}

/**
 * Lets all secrets of a webhook verify for a last while. One that retires already keeps its time, or gets the earlier.
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
