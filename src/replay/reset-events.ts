import type { Clock } from '../base/clock.ts';
import { pauseUntilAborted } from '../base/pause.ts';
import type { EventFilter, EventStore, Replayed, ReplayOptions } from '../store/event-store.ts';

export interface Reset extends Pick<ReplayOptions, 'resetSteps' | 'after'> {
  readonly filter: EventFilter;
  readonly clock: Clock;
  /** between two commits another process gets to write: acks do not wait for a replay */
  readonly pauseMs: number;
  /** ends the reset early; the events that are reset by then become ready all the same */
  readonly signal: AbortSignal;
  /** called after each commit with the events that it reset */
  readonly onReset: (ids: readonly string[]) => void;
  /** called after each commit that made some of them ready, with how many are ready by then */
  readonly onReady: (events: number) => void;
}

export interface ResetResult extends Replayed {
  /** the signal came before all events were reset */
  readonly isCut: boolean;
}

/** Resets finished events to pending in two rounds: all of them are reset and held, then all become ready. */
export async function resetEvents(store: Pick<EventStore, 'replay'>, reset: Reset): Promise<ResetResult> {
  const { filter, resetSteps, after, clock, pauseMs, signal, onReset, onReady } = reset;
  const rest = () => pauseUntilAborted(clock, pauseMs, signal);
  let isCut: boolean | undefined;
  const replayed = await store.replay(filter, {
    resetSteps,
    after,
    signal,
    onStep(ids) {
      onReset(ids);
      return rest();
    },
    onReady(events) {
      isCut ??= signal.aborted; // all are reset by now, unless the signal kept some from it
      onReady(events);
      return rest();
    },
  });
  return { ...replayed, isCut: isCut ?? signal.aborted };
}
