import { type Clock, type MonotonicClock, within } from '../base/clock.ts';
import { isUnavailable } from '../base/errors.ts';
import type { EventStore } from '../store/event-store.ts';

/** A store that takes longer than this soon makes the receiver answer with 503, too. */
const PATIENCE_MS = 1000;
/** For so long an ack that could not be recorded says more than a commit of our own, which may find room where acks do not. */
const REMEMBERED_MS = 5000;

/** Whether the store can commit within a second. It commits, to see that. @throws KitError STORE_UNAVAILABLE if it cannot */
export async function commits(store: Pick<EventStore, 'ping'>, clock: Clock): Promise<boolean> {
  const pinged = store.ping().then(() => true);
  return (await within(clock, PATIENCE_MS, pinged)) ?? false;
}

export type Readiness = ReturnType<typeof readinessOf>;

/** Whether notifications can be recorded, by what became of the last ack and by a commit of its own. */
export function readinessOf(store: Pick<EventStore, 'ping'>, clock: MonotonicClock) {
  /** the last ack that could not be recorded, if none was since */
  let failure: { readonly at: number; readonly error: unknown } | undefined;
  let underWay: Promise<boolean> | undefined;
  return {
    /** An ack was recorded. */
    succeeded(): void {
      failure = undefined;
    },
    /** An ack could not be recorded, perhaps because of the store. @throws the same error */
    failed(error: unknown): never {
      if (isUnavailable(error)) failure = { at: clock.monotonic(), error };
      throw error;
    },
    /**
     * Whether the store commits within a second. Whoever asks at the same time shares a commit, since each costs one.
     * @throws KitError STORE_UNAVAILABLE if it cannot, or could not record the last ack, a moment ago
     */
    async check(): Promise<boolean> {
      if (failure && clock.monotonic() - failure.at < REMEMBERED_MS) throw failure.error;
      underWay ??= commits(store, clock).finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
}
