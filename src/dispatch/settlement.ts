import type { Settlement } from '../store/event-store.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import type { Run } from './run-handler.ts';

export interface RetryPolicy extends Backoff {
  readonly maxAttempts: number;
}

/** What becomes of an event after a run: its end, or its next attempt, or the end of all attempts. */
export function settlementOf(run: Run, attempt: number, now: number, policy: RetryPolicy): Settlement {
  switch (run.type) {
    case 'handled':
      return { status: 'handled', outcome: 'handled' };
    case 'skip':
      return { status: 'skipped', outcome: 'skipped', error: run.reason };
    case 'fail':
    case 'dead':
      return { status: 'dead', outcome: 'failed', error: run.reason };
    default: {
      const { type: outcome, reason: error } = run;
      if (attempt >= policy.maxAttempts) return { status: 'dead', outcome, error };
      const after = (run.type === 'retry' ? run.after : undefined) ?? backoffMs(attempt, policy);
      return { status: 'pending', outcome, error, nextAttemptAt: now + Math.ceil(after) };
    }
  }
}
