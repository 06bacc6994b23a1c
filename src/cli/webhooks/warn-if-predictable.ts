import { isSeeded } from '../../base/seeded-random.ts';
import type { EventStore } from '../../store/event-store.ts';
import { say } from '../print.ts';

const PREDICTABLE =
  'anybody can compute this secret, as it follows from the seed of a mock provider: only a receiver that no other machine reaches ' +
  'takes what it signs';

/** Says what a secret is worth, where anybody can compute it. */
export function warnIfPredictable(secret: string): void {
  if (isSeeded(secret)) say(PREDICTABLE);
}

/** The same of the secrets that are stored of a webhook. */
export async function warnOfPredictable(
  store: Pick<EventStore, 'secrets'>,
  webhookId: string | undefined,
): Promise<void> {
  const stored = await store.secrets();
  if (stored.some((one) => one.webhookId === webhookId && isSeeded(one.secret))) say(PREDICTABLE);
}
