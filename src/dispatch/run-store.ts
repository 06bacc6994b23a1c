import type { Claim, EventStore } from '../store/event-store.ts';

/** A stored result of a step. */
export interface StepResult {
  /** JSON; null if the step returned nothing */
  readonly result: string | null;
}

/** The store as one run of a handler sees it. */
export interface RunStore {
  /** The stored result of a step; undefined if the step was not done. */
  step(name: string): Promise<StepResult | undefined>;
  /** Whether the run's attempt still has the lease of its event. */
  holds(): Promise<boolean>;
  /**
   * Stores the result of a step, unless one is stored or the attempt has lost its lease.
   * @returns the stored result, which may be of another run; undefined if none is stored
   */
  saveStep(name: string, result: string | null): Promise<StepResult | undefined>;
}

/** @param owner the dispatcher that claimed the event */
export function runStoreOf(
  store: Pick<EventStore, 'step' | 'holds' | 'saveStep'>,
  claim: Claim,
  owner: string,
): RunStore {
  return {
    step: (name) => store.step(claim.id, name),
    holds: () => store.holds(claim, owner),
    saveStep: (name, result) => store.saveStep(claim, owner, { name, result }),
  };
}
