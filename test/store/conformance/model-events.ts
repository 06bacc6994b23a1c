import type { Claim, Status, StoredEvent } from '../../../src/store/event-store.ts';
import { LEASE_MS, MAX_ATTEMPTS } from '../../support/claiming.ts';

/** An event as the model knows it: no tables, no indexes, no threads. */
export interface ModelEvent {
  readonly id: string;
  readonly resource: string;
  readonly eventTime: number;
  readonly receivedAt: number;
  status: Status;
  deliveries: number;
  attempts: number;
  /** starts that were released, and so do not count as attempts */
  released: number;
  /** what the event was told when it first ran in this replay */
  late: boolean | undefined;
  replays: number;
  nextAttemptAt: number | undefined;
  handledAt: number | undefined;
  pruned: boolean;
  lease: { readonly owner: string; readonly startedAt: number; until: number } | undefined;
  /** outcome by replay and start */
  readonly outcomes: Map<string, string>;
  /** results of steps by name */
  readonly steps: Map<string, string>;
}

export function newEvent(
  given: Pick<ModelEvent, 'id' | 'resource' | 'eventTime' | 'receivedAt'>,
): ModelEvent {
  return {
    ...given,
    status: 'pending',
    deliveries: 1,
    attempts: 0,
    released: 0,
    late: undefined,
    replays: 0,
    nextAttemptAt: undefined,
    handledAt: undefined,
    pruned: false,
    lease: undefined,
    outcomes: new Map(),
    steps: new Map(),
  };
}

/** What of an event the model and the store must agree on. */
export function visible(event: ModelEvent): Partial<StoredEvent> & { pruned: boolean } {
  const { id, resource, eventTime, status, deliveries, attempts, replays, nextAttemptAt, handledAt, pruned } =
    event;
  return {
    id: id as StoredEvent['id'],
    resource,
    eventTime,
    status,
    deliveries,
    starts: startsOf(event),
    attempts,
    replays,
    nextAttemptAt,
    handledAt,
    pruned,
  };
}

/** The same of an event as stored. */
export function visibleOf(event: StoredEvent): ReturnType<typeof visible> {
  const { id, resource, eventTime, status, deliveries, starts, attempts, replays } = event;
  const { nextAttemptAt, handledAt, body } = event;
  return {
    id,
    resource,
    eventTime,
    status,
    deliveries,
    starts,
    attempts,
    replays,
    nextAttemptAt,
    handledAt,
    pruned: body === undefined,
  };
}

/** How often it was started since it was recorded or last replayed. */
export function startsOf({ attempts, released }: ModelEvent): number {
  return attempts + released;
}

export function note(event: ModelEvent, outcome: string): void {
  event.outcomes.set(`${event.replays}/${startsOf(event)}`, outcome);
}

/** Whether the time has come for what waited after it had been lost. */
function isDueAfterLoss(event: ModelEvent, now: number): boolean {
  const { nextAttemptAt, outcomes, replays } = event;
  const isDue = nextAttemptAt !== undefined && nextAttemptAt <= now;
  return isDue && outcomes.get(`${replays}/${startsOf(event)}`) === 'lost';
}

/** Takes back leases that ran out, of later attempts one after the other over the length of a lease, and makes ready what waited until now. */
export function fallDue(events: readonly ModelEvent[], now: number): void {
  const lost = events.filter(({ lease }) => lease && lease.until <= now);
  // By event time and then, as sorting keeps it, by arrival.
  lost.sort((left, right) => left.eventTime - right.eventTime);
  const suspects = lost.filter(({ attempts }) => attempts > 1 || attempts + 2 > MAX_ATTEMPTS);
  const late = events.filter((event) => isDueAfterLoss(event, now));
  late.sort((one, other) => (one.nextAttemptAt ?? 0) - (other.nextAttemptAt ?? 0));
  for (const event of lost) {
    note(event, 'lost');
    event.status = event.attempts >= MAX_ATTEMPTS ? 'dead' : 'pending';
    event.lease = undefined;
    if (!suspects.includes(event)) continue;
    const turn = late.length + suspects.indexOf(event);
    const wait = Math.ceil((turn * LEASE_MS) / (late.length + suspects.length));
    if (event.status === 'pending' && turn > 0) event.nextAttemptAt = now + wait;
  }
  for (const [turn, event] of late.entries()) {
    if (turn > 0) event.nextAttemptAt = now + Math.ceil((turn * LEASE_MS) / late.length);
  }
  for (const event of events) {
    if (event.nextAttemptAt !== undefined && event.nextAttemptAt <= now) event.nextAttemptAt = undefined;
  }
}

/** How long the events of a replay wait if it never makes them ready. */
export const HOLD_MS = 15 * 60_000;

/** Whether a replay reset it that never made it ready. */
export function isHeld({ status, attempts, nextAttemptAt }: ModelEvent): boolean {
  return status === 'pending' && attempts === 0 && nextAttemptAt !== undefined;
}

/** What a replay does with an event: held events change to this replay, and count as replayed once. */
export function reset(event: ModelEvent, nextAttemptAt: number | undefined): void {
  if (!isHeld(event)) event.replays++;
  const fresh = {
    status: 'pending',
    attempts: 0,
    released: 0,
    late: undefined,
    handledAt: undefined,
  } as const;
  Object.assign(event, { ...fresh, nextAttemptAt } satisfies Partial<ModelEvent>);
}

/** The order in which a replay resets events. */
export function byIdentity(one: ModelEvent, other: ModelEvent): number {
  return one.eventTime - other.eventTime || (one.id < other.id ? -1 : 1);
}

/** Of each resource that has nothing running its oldest ready event; `events` are in the order of receipt. */
export function heads(events: readonly ModelEvent[]): readonly ModelEvent[] {
  const oldest = new Map<string, ModelEvent>();
  for (const event of events) {
    const { resource, status, nextAttemptAt } = event;
    if (status !== 'pending' || nextAttemptAt !== undefined) continue;
    if (events.some((other) => other.resource === resource && other.lease)) continue;
    const other = oldest.get(resource);
    if (!other || event.eventTime < other.eventTime) oldest.set(resource, event);
  }
  return [...oldest.values()];
}

/** What a claim asks for. */
export interface Shares {
  readonly limit: number;
  readonly newest: number;
  readonly replayed: number;
}

/** Of a resource, the ready event by which it has its place: the oldest one that is no replay, or else the oldest. */
function placing(events: readonly ModelEvent[], head: ModelEvent): ModelEvent {
  const live = events.filter(
    ({ resource, status, nextAttemptAt, replays }) =>
      resource === head.resource && status === 'pending' && nextAttemptAt === undefined && replays === 0,
  );
  return live.toSorted((one, other) => one.eventTime - other.eventTime)[0] ?? head;
}

/** Which of the heads a claim gets, in order. */
export function claimed(
  events: readonly ModelEvent[],
  { limit, newest, replayed }: Shares,
): readonly ModelEvent[] {
  const ready = heads(events).map((head) => ({ head, by: placing(events, head) }));
  const sorted = (isReplay: boolean, time: (event: ModelEvent) => number) =>
    ready
      .filter(({ by }) => by.replays > 0 === isReplay)
      .sort((one, other) => time(one.by) - time(other.by) || (one.by.resource < other.by.resource ? -1 : 1))
      .map(({ head }) => head);
  const live = sorted(false, ({ receivedAt }) => receivedAt);
  const replays = sorted(true, ({ eventTime }) => eventTime);
  const last = live.toReversed().slice(0, newest);
  const behind = replays.slice(0, replayed);
  const first = live.slice(0, Math.max(0, limit - last.length - behind.length));
  return [...new Set([...first, ...behind, ...last, ...live, ...replays])].slice(0, limit);
}

export function isLate(events: readonly ModelEvent[], { resource, eventTime }: ModelEvent): boolean {
  return events.some(
    (other) => other.resource === resource && other.eventTime > eventTime && other.status === 'handled',
  );
}

/** Whether a claim is the one that an event is leased under now. */
export function holds(event: ModelEvent, claim: Claim, owner: string): boolean {
  const { lease, replays } = event;
  return (
    lease?.owner === owner &&
    lease.startedAt === claim.startedAt &&
    startsOf(event) === claim.starts &&
    replays === claim.replays
  );
}
