import { type Clock, type MonotonicClock, within } from '../base/clock.ts';
import { isUnavailable, KitError } from '../base/errors.ts';
import type { EventStore, Recorded, VerifiedNotification } from '../store/event-store.ts';

/** A store that takes longer than this may soon have senders wait in vain. */
const PATIENCE_MS = 1000;
/** Senders wait for some ten seconds: an answer within that has them send again in order. */
const LONGEST_MS = 8000;
const LOOK_MS = 100;
const LATE = new KitError(
  'STORE_UNAVAILABLE',
  'the store has not committed within 8 s: see what locks the database, or slows its disk down',
);
/** For so long an ack that could not be recorded says more than a commit of our own, which may find room where acks do not. */
const REMEMBERED_MS = 5000;

/** Whether the store can commit within a second. It commits, to see that. @throws KitError STORE_UNAVAILABLE if it cannot */
export async function commits(store: Pick<EventStore, 'ping'>, clock: Clock): Promise<boolean> {
  const pinged = store.ping().then(() => true);
  return (await within(clock, PATIENCE_MS, pinged)) ?? false;
}

export type Acks = ReturnType<typeof acksOf>;

/** The acks that wait for their commits, and whether one that came now would get its own soon. */
export function acksOf(store: Pick<EventStore, 'record' | 'ping'>, clock: MonotonicClock) {
  /** until their commits end, the oldest first */
  const waiting = new Set<{ readonly began: number; readonly giveUp: (why: KitError) => void }>();
  let isWatched = false;
  /** the last commit that failed, if none succeeded since */
  let failure: { readonly at: number; readonly error: unknown } | undefined;

  /** Looks at all of them at once: a timer for each would make each ack more expensive. */
  const look = (): void => {
    const latest = clock.monotonic() - LONGEST_MS;
    for (const { began, giveUp } of waiting) if (began <= latest) giveUp(LATE); // once more changes nothing
    isWatched = waiting.size > 0;
    if (isWatched) clock.after(LOOK_MS, look);
  };

  return {
    /** How many wait for their commits: also those that were given up. */
    get waiting(): number {
      return waiting.size;
    },

    /**
     * Records a notification. What is given up after 8 s may still be recorded: its repeat is a duplicate then.
     * @throws KitError STORE_UNAVAILABLE if it cannot be, or not in time
     */
    record(notification: VerifiedNotification): Promise<Recorded> {
      const { promise, resolve, reject } = Promise.withResolvers<Recorded>();
      const ack = { began: clock.monotonic(), giveUp: reject };
      waiting.add(ack);
      if (!isWatched) look();
      const committed = store.record(notification).finally(() => waiting.delete(ack));
      committed.then(
        (recorded) => {
          failure = undefined;
          resolve(recorded);
        },
        (error) => {
          if (isUnavailable(error)) failure = { at: clock.monotonic(), error };
          reject(error);
        },
      );
      return promise;
    },

    /**
     * Whether acks come soon: none has waited for longer than a second, and the store commits within one.
     * @throws KitError STORE_UNAVAILABLE if it cannot, or could not record the last ack, a moment ago
     */
    async areReady(): Promise<boolean> {
      if (failure && clock.monotonic() - failure.at < REMEMBERED_MS) throw failure.error;
      const [oldest] = waiting;
      const isHeldUp = oldest !== undefined && clock.monotonic() - oldest.began > PATIENCE_MS;
      return !isHeldUp && commits(store, clock);
    },
  };
}
