import type { AttemptRow, EventTables, Lease, ResultRow, WorkChange } from '../driver.ts';
import type { Settlement } from '../event-store.ts';
import { instanceOf } from '../owner.ts';
import { inOrder } from './in-order.ts';
import { tally } from './tallying.ts';

/** The end of a start. */
export interface End {
  readonly lease: Lease;
  readonly settlement: Settlement;
  readonly now: number;
}

/** Records the ends of starts, and gives their lanes free. The leases are of different resources. */
export async function endStarts(tables: EventTables, ends: readonly End[]): Promise<void> {
  if (ends.length === 0) return;
  const results = ends.flatMap((end) => resultOf(end) ?? []);
  const again = ends.filter(({ settlement: { status } }) => status === 'pending');
  const states = ends.flatMap(({ lease: { resource }, settlement: { state = [] } }) =>
    state.length > 0 ? [{ resource, changes: state }] : [],
  );
  const tallies = tally(
    results.flatMap(({ kind, status }) => [
      { kind, status: 'pending', by: -1 },
      { kind, status, by: 1 },
    ]),
  );
  await inOrder(
    tables.addAttempts(ends.filter(({ settlement }) => !settlement.isUnstarted).map(attemptOf)),
    results.length > 0 && tables.addResults(results),
    results.length > 0 && tables.removeWork(results.map(({ event }) => event)),
    results.length > 0 && tables.addTallies(tallies),
    again.length > 0 && tables.changeWork(again.map(workAfter)),
    states.length > 0 && tables.changeState(states),
    tables.freeOrClose(ends.map(({ lease }) => lease.resource)),
  );
}

function attemptOf({ lease, settlement, now }: End): AttemptRow {
  const { outcome, error, waitedMs = 0, ranMs } = settlement;
  const startedAt = lease.startedAt + waitedMs;
  return {
    event: lease.event,
    replay: lease.replays,
    attempt: lease.attempts + lease.interrupted,
    startedAt,
    durationMs: ranMs ?? Math.max(0, now - startedAt),
    outcome,
    error,
    instance: instanceOf(lease.owner),
  };
}

/** What an event is that ended with this start; undefined if it goes on. */
function resultOf({
  lease,
  settlement: { status, error },
  now,
}: End): (ResultRow & { kind: string }) | undefined {
  if (status === 'pending') return undefined;
  return { ...lease, status, lastError: error, handledAt: status === 'dead' ? undefined : now };
}

/** What an event is that goes on. A release takes the attempt back, and leaves the former error. */
function workAfter({ lease, settlement, now }: End): WorkChange {
  const { event, attempts, interrupted, replays, late, lastError } = lease;
  if (settlement.isUnstarted) {
    const isFirst = attempts + interrupted === 1;
    const before = { attempts: attempts - 1, interrupted, replays, late: isFirst ? undefined : late };
    return { event, ...before, lastError, nextAttemptAt: undefined };
  }
  if (settlement.isUncounted) {
    const taken = { attempts: attempts - 1, interrupted: interrupted + 1, replays, late };
    return { event, ...taken, lastError, nextAttemptAt: undefined };
  }
  const { error, afterMs } = settlement;
  const nextAttemptAt = afterMs === undefined ? undefined : now + afterMs;
  return { event, attempts, interrupted, replays, late, lastError: error, nextAttemptAt };
}
