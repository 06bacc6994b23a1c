import { type Clock, type MonotonicClock, within } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { Queue, Recorded, VerifiedNotification } from '../store/event-store.ts';

/** `/readyz` says 503 once an ack has waited for longer: senders give up after some ten seconds. */
const PATIENCE_MS = 1000;
/** After this an ack is answered 503, as senders wait for some ten seconds: they read the answer, and send again. */
const LONGEST_MS = 8000;
const LATE = new KitError(
  'STORE_UNAVAILABLE',
  'the store has not committed within 8 s: see what locks the database, or slows its disk down',
);

/** Whether the store commits a ping within a second. @throws KitError STORE_UNAVAILABLE if it cannot */
export async function commits(queue: Pick<Queue, 'ping'>, clock: Clock): Promise<boolean> {
  const pinged = queue.ping().then(() => true);
  return (await within(clock, PATIENCE_MS, pinged)) ?? false;
}

/** Records a notification. @param traceparent the header of its request */
export type RecordOne = (notification: VerifiedNotification, traceparent?: string) => Promise<Recorded>;

/** The acks that wait for their commits, and whether a further ack would get its commit soon. */
export function acksOf(queue: Pick<Queue, 'record' | 'ping'>, clock: MonotonicClock) {
  /** acks whose commits have not ended, the oldest first */
  const waiting = new Set<{ readonly began: number }>();

  return {
    /** How many acks wait for their commits, those included that were answered 503 meanwhile. */
    waiting: () => waiting.size,

    /**
     * Records a notification. The commit of an ack that is given up after 8 s may still come: a repeat is then a duplicate.
     * @throws KitError STORE_UNAVAILABLE if the store cannot commit, or not in time
     */
    record(notification: VerifiedNotification): Promise<Recorded> {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const ack = { began: clock.monotonic() };
      waiting.add(ack);
      const cancel = clock.after(LONGEST_MS, () => reject(LATE));
      const recorded = queue.record(notification).finally(() => {
        cancel();
        waiting.delete(ack);
      });
      return Promise.race([recorded, late]);
    },

    /**
     * Whether acks come soon: none has waited for longer than a second, and the store commits within one.
     * @throws KitError STORE_UNAVAILABLE if the store cannot commit
     */
    async areReady(): Promise<boolean> {
      const [oldest] = waiting;
      const isHeldUp = oldest !== undefined && clock.monotonic() - oldest.began > PATIENCE_MS;
      return !isHeldUp && commits(queue, clock);
    },
  };
}
