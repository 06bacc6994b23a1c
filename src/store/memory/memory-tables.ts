import type { EventTables, NewLease, Progress, Tables, WorkRow } from '../driver.ts';
import { eventId } from '../event-id.ts';
import { headOf, REPLAYS_FROM } from '../semantics/lane-order.ts';
import { MARK } from '../semantics/marks.ts';
import { isReplayable, matcher } from '../semantics/matching.ts';
import { byIdentity, byText, byTime, type Rows } from './rows.ts';

/** The tables of events in memory. */
export function eventTables(
  rows: Rows,
): EventTables & Pick<Tables, 'ping' | 'newestTime' | 'meta' | 'setMeta' | 'setMark'> {
  const changeWork = (event: number, change: Partial<WorkRow>): void => {
    const row = rows.work.get(event);
    if (row) rows.work.set(event, { ...row, ...change });
  };
  /** What waits for its next attempt, in the order of their times. */
  const waiting = () =>
    rows.work
      .all()
      .flatMap((row) => (row.nextAttemptAt === undefined ? [] : { ...row, nextAttemptAt: row.nextAttemptAt }))
      .sort((one, other) => one.nextAttemptAt - other.nextAttemptAt || one.event - other.event);
  /** Of a resource, the oldest first. */
  const ready = (resource: string): readonly WorkRow[] =>
    rows.work
      .all()
      .filter((row) => row.resource === resource && row.nextAttemptAt === undefined)
      .sort(byTime);
  const openingOf = <Row extends WorkRow>(row: Row) => ({
    ...row,
    receivedAt: rows.ledger.get(row.event)?.receivedAt ?? row.eventTime,
  });
  const leased = () => rows.lanes.all().flatMap(({ lease }) => lease ?? []);
  const setLeases = (leases: readonly NewLease[]): void => {
    for (const lease of leases) {
      const lane = rows.lanes.get(lease.resource);
      if (lane) rows.lanes.set(lease.resource, { ...lane, lease });
    }
  };
  const leaseOf = ({ event, owner, startedAt }: NewLease) => {
    const row = rows.work.get(event);
    return row && { ...row, owner, startedAt };
  };
  const headOfLane = (resource: string): number | undefined => {
    const all = ready(resource);
    const first = all.find(({ replays }) => replays === 0) ?? all[0];
    return first && headOf(openingOf(first));
  };
  return {
    append: (entries) =>
      entries.map(({ digest: bytes, kind, webhookId, siteId, resource, eventTime, receivedAt, body }) => {
        const digest = Buffer.from(bytes).toString('hex');
        const identity = `${eventTime} ${digest}`;
        const known = rows.identities.get(identity);
        if (known !== undefined) return { event: known, isNew: false };
        const event = rows.ledger.size + 1; // nothing leaves the ledger
        const id = eventId(eventTime, bytes);
        const labels = { kind, webhookId, siteId, resource };
        rows.ledger.set(event, { event, id, digest, ...labels, eventTime, receivedAt, body });
        rows.identities.set(identity, event);
        rows.identities.set(id, event);
        return { event, isNew: true };
      }),
    addRepeats(added) {
      for (const { event, repeats, lastAt } of added) {
        const before = rows.repeats.get(event) ?? { repeats: 0, lastAt };
        const after = { repeats: before.repeats + repeats, lastAt: Math.max(before.lastAt, lastAt) };
        rows.repeats.set(event, after);
      }
    },
    untaken(limit) {
      const taken = rows.counters.get('taken') ?? 0;
      const places = Array.from(
        { length: Math.min(limit, rows.ledger.size - taken) },
        (_, index) => taken + index + 1,
      );
      return places.flatMap((place) => rows.ledger.get(place) ?? []);
    },
    markTaken(taken) {
      const last = taken.at(-1);
      if (last) rows.counters.set('taken', last.event);
    },
    placesOf: (ids) => ids.map((id) => rows.placeOf(id)),
    lastPlace: () => rows.ledger.size,
    settledPlace: () => rows.ledger.size,

    addWork(added) {
      for (const row of added) {
        const { event, kind, resource, eventTime, nextAttemptAt } = row;
        if (rows.work.get(event)) throw new Error(`event ${event} is in work already`);
        rows.work.set(event, { event, kind, resource, eventTime, nextAttemptAt, ...progressOf(row) });
      }
    },
    changeWork(changes) {
      for (const change of changes) {
        const { event, nextAttemptAt } = change;
        changeWork(event, { nextAttemptAt, ...progressOf(change) });
      }
    },
    countStarts(starts) {
      for (const { event, late } of starts)
        changeWork(event, { late, attempts: 1 + (rows.work.get(event)?.attempts ?? 0) });
    },
    removeWork: (events) => events.forEach((event) => void rows.work.delete(event)),
    due: (now, limit) =>
      waiting()
        .filter(({ nextAttemptAt }) => nextAttemptAt <= now)
        .slice(0, limit)
        .map(openingOf),
    makeReady: (events) => events.forEach((event) => void changeWork(event, { nextAttemptAt: undefined })),
    oldestReady: (resources) =>
      resources.map((resource) => {
        const [row, next] = ready(resource);
        const event = row && rows.event(row.event);
        if (!event) return undefined;
        const { id, digest, webhookId, siteId, body, receivedAt, deliveries, lastDeliveryAt } = event.stored;
        const labels = { id, digest, webhookId, siteId, body };
        return { ...row, ...labels, receivedAt, deliveries, lastDeliveryAt, hasMore: next !== undefined };
      }),
    nextDue(now) {
      const ends = leased().flatMap(({ until }) => (until > now ? until : []));
      const earliest = Math.min(waiting()[0]?.nextAttemptAt ?? Number.POSITIVE_INFINITY, ...ends);
      return Number.isFinite(earliest) ? earliest : undefined;
    },
    waitingWith: (note, from, until) =>
      waiting()
        .filter(
          ({ nextAttemptAt, lastError, attempts }) =>
            nextAttemptAt >= from && nextAttemptAt < until && lastError === note && attempts === 0,
        )
        .map(openingOf),

    openLanes(events) {
      for (const { resource } of events) {
        const head = headOfLane(resource);
        const lease = rows.lanes.get(resource)?.lease;
        if (head !== undefined && !lease) rows.lanes.set(resource, { resource, head, lease });
      }
    },
    freeLanes(which, limit) {
      const free = rows.lanes
        .all()
        .filter(({ lease, head }) => lease === undefined && head >= REPLAYS_FROM === (which === 'replayed'))
        .sort((one, other) => one.head - other.head || byText(one.resource, other.resource));
      if (which === 'newest') free.reverse();
      return free.slice(0, limit).map(({ resource }) => resource);
    },
    lease: setLeases,
    freeOrClose(resources) {
      for (const resource of resources) {
        const head = headOfLane(resource);
        if (head !== undefined) rows.lanes.set(resource, { resource, head, lease: undefined });
        else rows.lanes.delete(resource);
      }
    },
    leases: (asked) =>
      asked.map(({ resource, owner }) => {
        const lease = rows.lanes.get(resource)?.lease;
        return lease?.owner === owner ? leaseOf(lease) : undefined;
      }),
    extendLeases(owner, until, among) {
      const mine = leased().filter(
        (lease) => lease.owner === owner && (among?.includes(lease.event) ?? true),
      );
      setLeases(mine.map((lease) => ({ ...lease, until })));
      return mine.flatMap(({ event }) => rows.ledger.get(event)?.id ?? []);
    },
    shortenLeases(owner, now, until) {
      const ahead = leased().filter((lease) => lease.until > until && lease.startedAt > now);
      setLeases(ahead.filter((lease) => lease.owner !== owner).map((lease) => ({ ...lease, until })));
    },
    lostLeases: (owner, now, has) =>
      leased()
        .filter((lease) => lease.owner !== owner || (has && !has.includes(lease.event)))
        .filter((lease) => lease.until <= now)
        .flatMap((lease) => leaseOf(lease) ?? [])
        .sort(byTime),

    addAttempts(attempts) {
      for (const attempt of attempts) {
        const others = (rows.attempts.get(attempt.event) ?? []).filter(
          (one) => one.replay !== attempt.replay || one.attempt !== attempt.attempt,
        );
        const all = others.concat(attempt);
        all.sort((one, other) => one.replay - other.replay || one.attempt - other.attempt);
        rows.attempts.set(attempt.event, all);
      }
    },
    addResults(results) {
      for (const row of results) {
        const { event, resource, eventTime, status, handledAt } = row;
        if (rows.results.get(event)) throw new Error(`event ${event} has a result already`);
        rows.results.set(event, { event, resource, eventTime, status, handledAt, ...progressOf(row) });
      }
    },
    removeResults: (events) => events.forEach(({ event }) => void rows.results.delete(event)),
    newerHandled(events) {
      const handled = rows.results.all().filter(({ status }) => status === 'handled');
      return events.map(({ resource, eventTime }) =>
        handled.some((one) => one.resource === resource && one.eventTime > eventTime),
      );
    },
    // Readers look at every event and count it: they need neither lists by kind nor sums.
    addKinds: () => {},
    addTallies: () => {},
    channels: (resources) => resources.map((resource) => rows.channels.get(resource)),
    setChannels(channels) {
      for (const { resource, siteId, state, since, event, receivedAt } of channels)
        rows.channels.set(resource, { resource, siteId, state, since, event, receivedAt });
    },

    steps: (asked) =>
      asked.map(({ event, name }) => {
        const step = rows.steps.get(event)?.find((one) => one.name === name);
        return step && { result: step.result };
      }),
    addStep({ event, name, result }) {
      const others = rows.steps.get(event) ?? [];
      if (others.some((one) => one.name === name)) return;
      rows.steps.set(event, others.concat({ name, result }).sort(byName));
    },
    removeSteps: (events) => events.forEach((event) => void rows.steps.delete(event)),
    states: (resources) => resources.map((resource) => rows.states.get(resource) ?? []),
    changeState(changed) {
      for (const { resource, changes } of changed) {
        const values = new Map(rows.states.get(resource)?.map(({ name, value }) => [name, value]));
        for (const { name, value } of changes) {
          if (value === null) values.delete(name);
          else values.set(name, value);
        }
        rows.states.set(resource, [...values].map(([name, value]) => ({ name, value })).sort(byName));
      }
    },
    removeState(resource) {
      const names = rows.states.get(resource)?.length ?? 0;
      rows.states.delete(resource);
      return names;
    },

    replayable(filter) {
      const isMeant = matcher(filter);
      return rows
        .events()
        .filter(({ stored }) => isReplayable(stored) && isMeant(stored))
        .sort(byIdentity)
        .flatMap(({ place, interrupted, late, stored }) => {
          const { id, status, kind, resource, eventTime, attempts, replays, nextAttemptAt, lastError } =
            stored;
          if (status === 'running') return [];
          const progress = { attempts, interrupted, replays, late, lastError };
          return { event: place, id, status, kind, resource, eventTime, nextAttemptAt, ...progress };
        });
    },
    prunable(endedBefore, limit, ids) {
      const isMeant = matcher({ ids });
      return rows
        .events()
        .filter(({ stored }) => stored.body !== undefined && isMeant(stored))
        .flatMap(({ place, stored: { handledAt } }) => (handledAt === undefined ? [] : { place, handledAt }))
        .filter(({ handledAt }) => handledAt < endedBefore)
        .sort((one, other) => one.handledAt - other.handledAt)
        .slice(0, limit)
        .map(({ place }) => place);
    },
    ping: () => {},
    meta: (name) => rows.meta.get(name),
    setMeta: (name, value) => void rows.meta.set(name, value),
    setMark: (mark) => (mark ? rows.meta.set(MARK, mark) : rows.meta.delete(MARK)),
    newestTime() {
      const received = rows.ledger.get(rows.ledger.size)?.receivedAt;
      const kept = rows.events().filter(({ stored }) => stored.body !== undefined);
      const ends = kept.flatMap(({ stored }) => stored.handledAt ?? []);
      return received === undefined ? undefined : Math.max(received, ...ends);
    },
    empty(events) {
      for (const event of events) {
        const [received, result] = [rows.ledger.get(event), rows.results.get(event)];
        if (received) rows.ledger.set(event, { ...received, body: undefined });
        if (result) rows.results.set(event, { ...result, lastError: undefined });
        rows.attempts.delete(event);
        rows.steps.delete(event);
      }
    },
  };
}

/** What a row has beyond its progress stays out. */
function progressOf({ attempts, interrupted, replays, late, lastError }: Progress): Progress {
  return { attempts, interrupted, replays, late, lastError };
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return byText(one.name, other.name);
}
