import type { Clock } from '../base/clock.ts';
import type { WebhooksClient } from '../provider/index.ts';
import type { EventStore } from '../store/event-store.ts';

/** What the steps of a rotation work with. */
export interface RotationParts {
  readonly client: WebhooksClient;
  readonly store: EventStore;
  readonly clock: Clock;
  /** how long the old secret goes on verifying */
  readonly graceMs: number;
  readonly signal: AbortSignal;
  /** told of each step that is done */
  readonly onStep: (step: string) => void;
}
