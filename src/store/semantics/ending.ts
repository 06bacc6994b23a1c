import type { EventTables, Lease, ResultRow } from '../driver.ts';
import type { Settlement } from '../event-store.ts';
import { tally } from './tallying.ts';

/** The end of a start. */
export interface End {
  readonly lease: Lease;
  readonly settlement: Settlement;
  readonly now: number;
}

/** Records the ends of starts, and gives their lanes free. The leases are of different resources. */
export async function endStarts(tables: EventTables, ends: readonly End[]): Promise<void> {
  await tables.addAttempts(
    ends.map(({ lease, settlement: { outcome, error }, now }) => ({
      event: lease.event,
      replay: lease.replays,
      attempt: lease.attempts + lease.interrupted,
      startedAt: lease.startedAt,
      durationMs: Math.max(0, now - lease.startedAt),
      outcome,
      error,
    })),
  );
  const results = ends.flatMap((end) => resultOf(end) ?? []);
  if (results.length > 0) {
    await tables.addResults(results);
    await tables.removeWork(results.map(({ event }) => event));
    await tables.addTallies(
      tally(
        results.flatMap(({ kind, status }) => [
          { kind, status: 'pending', by: -1 },
          { kind, status, by: 1 },
        ]),
      ),
    );
  }
  const again = ends.filter(({ settlement: { status } }) => status === 'pending');
  if (again.length > 0) await tables.changeWork(again.map(workAfter));
  const states = ends.flatMap(({ lease: { resource }, settlement: { state = [] } }) =>
    state.length > 0 ? [{ resource, changes: state }] : [],
  );
  if (states.length > 0) await tables.changeState(states);
  await tables.freeOrClose(ends.map(({ lease }) => lease.resource));
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
function workAfter({ lease, settlement }: End) {
  const { event, attempts, interrupted, replays, late } = lease;
  return settlement.isUncounted
    ? { ...lease, attempts: attempts - 1, interrupted: interrupted + 1, nextAttemptAt: undefined }
    : {
        ...{ event, attempts, interrupted, replays, late },
        lastError: settlement.error,
        nextAttemptAt: settlement.nextAttemptAt,
      };
}
