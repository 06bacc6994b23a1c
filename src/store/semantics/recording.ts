import type { Entry, EventTables, LedgerRow } from '../driver.ts';
import { eventId } from '../event-id.ts';
import type { Recorded } from '../event-store.ts';
import { inOrder } from './in-order.ts';
import { tally } from './tallying.ts';

/** How many events of the ledger one step takes. */
const STEP = 512;
/** How many steps one transaction has at most: an ack that shares it waits for all of them. */
const MOST_STEPS = 4;

/**
 * Records notifications. A repeat counts as a delivery of the event that is there. Nothing but the ledger is touched: `take`
 * does the rest, off the ack's path.
 */
export async function record(tables: EventTables, entries: readonly Entry[]): Promise<Recorded[]> {
  const places = await tables.append(entries);
  const repeats = places.flatMap(({ event, isNew }, index) =>
    isNew ? [] : [{ event, repeats: 1, lastAt: entries[index]?.receivedAt ?? 0 }],
  );
  if (repeats.length > 0) await tables.addRepeats(repeats);
  return entries.map(({ eventTime, digest }, index) => ({
    status: places[index]?.isNew ? 'accepted' : 'duplicate',
    id: eventId(eventTime, digest),
  }));
}

/** Records a notification that came several times before it was verified. */
export async function recordAgain(
  tables: EventTables,
  entry: Entry,
  repeated: { readonly repeats: number; readonly lastAt: number } | undefined,
): Promise<Recorded | undefined> {
  const [recorded] = await record(tables, [entry]);
  const [event] = recorded ? await tables.placesOf([recorded.id]) : [];
  if (repeated && event !== undefined) await tables.addRepeats([{ event, ...repeated }]);
  return recorded;
}

/** Takes what is new in the ledger into the working set, so much at most that acks come through. @returns whether that is all of it */
export async function take(tables: EventTables): Promise<boolean> {
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const rows = await tables.untaken(STEP);
    if (rows.length > 0) await takeIn(tables, rows);
    if (rows.length < STEP) return true;
  }
  return false;
}

async function takeIn(tables: EventTables, rows: readonly LedgerRow[]): Promise<void> {
  const work = rows.map(({ event, kind, resource, eventTime }) => ({
    ...{ event, kind, resource, eventTime },
    ...FRESH,
    replays: 0,
    nextAttemptAt: undefined,
    lastError: undefined,
  }));
  await inOrder(
    tables.addWork(work),
    tables.openLanes(rows.map((row) => ({ ...row, replays: 0 }))),
    tables.addKinds(rows),
    tables.addTallies(tally(rows.map(({ kind }) => ({ kind, status: 'pending', by: 1 })))),
    tables.markTaken(rows),
    moveChannels(tables, rows),
  );
}

/** An event that was not started yet. */
export const FRESH = { attempts: 0, interrupted: 0, late: undefined } as const;

const STATE = new Map([
  ['channel_active', 'active'],
  ['channel_idle', 'idle'],
] as const satisfies readonly (readonly [string, 'active' | 'idle'])[]);

/**
 * Keeps the state of each live channel: that of its newest event, at one event time of the one received later, then of
 * the one stored later. An event that was admitted from quarantine is stored last, and may have been received first.
 */
async function moveChannels(tables: EventTables, rows: readonly LedgerRow[]): Promise<void> {
  const states = rows.flatMap(({ kind, eventTime, ...row }) => {
    const state = STATE.get(kind as 'channel_active');
    return state && row.resource.startsWith('channel:') ? [{ ...row, state, since: eventTime }] : [];
  });
  if (states.length === 0) return;
  const resources = [...new Set(states.map(({ resource }) => resource))];
  const known = new Map(
    (await tables.channels(resources)).flatMap((row) => (row ? [[row.resource, row]] : [])),
  );
  for (const one of states) {
    const current = known.get(one.resource);
    const isLater =
      !current ||
      one.since > current.since ||
      (one.since === current.since && one.receivedAt >= current.receivedAt);
    if (isLater) known.set(one.resource, one);
  }
  await tables.setChannels([...known.values()]);
}
