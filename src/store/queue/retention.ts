import type { Logger } from 'pino';
import { type Clock, repeat } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Queue } from './queue.ts';

interface RetentionOptions {
  readonly store: { readonly queue: Pick<Queue, 'prune'> };
  readonly clock: Clock;
  readonly log: Logger;
  readonly days: number;
}

const DAY_MS = 86_400_000;
const ROUND_MS = 3_600_000;
/** Small steps with pauses between them, so that they hardly delay acks. */
const STEP = 200;
const PAUSE_MS = 50;

/** Prunes events that ended more than `days` ago, now and every hour. @returns a function that stops it */
export function keepFor({ store, clock, log, days }: RetentionOptions): () => void {
  let total = 0;
  return repeat(clock, 0, async () => {
    let pruned = 0;
    try {
      pruned = await store.queue.prune({ before: clock.now() - days * DAY_MS, limit: STEP });
    } catch (error) {
      log.error({ error: messageOf(error) }, 'cannot prune; trying again in an hour');
    }
    total += pruned;
    if (pruned === STEP) return PAUSE_MS;
    if (total > 0) log.info({ pruned: total, days }, 'old events pruned');
    total = 0;
    return ROUND_MS;
  });
}
