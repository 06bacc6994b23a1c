import type { EventStore } from '../../store/event-store.ts';
import { isPredictable } from '../../store/predictable-secrets.ts';
import { say } from '../print.ts';

const PREDICTABLE =
  'anybody can compute this secret, as it follows from the seed of a mock provider: only a service that no other machine reaches ' +
  'starts with it, or takes what it signs';

/** Says what a secret is worth, where anybody can compute it. */
export function warnIfPredictable(secret: string): void {
  if (isPredictable(secret)) say(PREDICTABLE);
}

/** The same of the secrets that are stored of a webhook. */
export async function warnOfPredictable(
  store: Pick<EventStore, 'secrets'>,
  webhookId: string | undefined,
): Promise<void> {
  const stored = await store.secrets();
  if (stored.some((one) => one.webhookId === webhookId && isPredictable(one.secret))) say(PREDICTABLE);
}
