import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { repeat } from '../base/repeat.ts';
import type { EventStore } from './event-store.ts';

export interface SecretsWatch {
  readonly store: Pick<EventStore, 'unreadableSecrets'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error'>;
}

const ROUND_MS = 10_000;
/** How often the same line is logged. */
const AGAIN_MS = 3_600_000;
const MOST_NAMED = 20;
const UNREADABLE = 'a stored secret does not open and counts as absent: its row was changed';

/** Logs which webhooks have a secret that does not open, now and at each change. @returns a function that stops it */
export function watchSecrets({ store, clock, log }: SecretsWatch): () => void {
  let said = '';
  let saidAt = Number.NEGATIVE_INFINITY;
  const sayOnce = (details: object, message: string): void => {
    const now = clock.now();
    const saying = message + JSON.stringify(details);
    if (saying === said && now - saidAt < AGAIN_MS) return;
    log.error(details, message);
    said = saying;
    saidAt = now;
  };
  const look = async (): Promise<void> => {
    const webhooks = await store.unreadableSecrets();
    if (webhooks.length === 0) said = '';
    else sayOnce({ webhooks: webhooks.slice(0, MOST_NAMED), count: webhooks.length }, UNREADABLE);
  };
  return repeat(clock, 0, async () => {
    await look().catch((error) =>
      sayOnce({ error: messageOf(error) }, 'cannot read the stored secrets; trying again'),
    );
    return ROUND_MS;
  });
}
