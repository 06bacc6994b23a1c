import { type Db, type Dialect, one } from '../../dialect.ts';
import { IS_OWN, OF } from '../../schema.ts';
import type { DoneStep, EventId, Of, Settlement, StateValue, StoredEvent } from '../../stored.ts';
import type { Lane, LeaseKey } from '../lanes.ts';
import type { Reminder } from '../reminders.ts';
import { LOOKED_AT, problems } from './problems.ts';
import { COLUMNS, eventsBy, LANES, searchReads } from './search.ts';

/** The record of one start. */
export interface Attempt extends Pick<Settlement, 'startedAt' | 'outcome' | 'error' | 'log'> {
  /** the replay it belongs to; 0 is before the first replay */
  readonly replay: number;
  /** the number of the start, from 1 in each replay */
  readonly attempt: number;
  readonly durationMs: number;
  /** the name of the process that ran it */
  readonly instance: string;
}

/** A subscriber, and how far it is. */
export interface Subscriber {
  readonly name: string;
  /** the slots of the kinds that its processes handle */
  readonly kinds: readonly string[];
  /** how many notifications it was not given yet, whether it handles their kinds or not; it counts 10,000 at most */
  readonly behind: number;
}

/** A name in the state of a resource. */
export type StatePlace = Lane & Pick<StateValue, 'name'>;

/** A stretch of the state of all media, or of all channels. `after`: where the one before it ended. */
export type StatesQuery = Of & Readonly<{ of: 'media' | 'channel'; after?: StatePlace | undefined }>;

/** A reminder that is set. Times are milliseconds since the epoch. */
export interface SetReminder extends Of, Pick<Reminder, 'resource' | 'name' | 'dueAt' | 'setAt' | 'data'> {
  /** the id of the event that set it */
  readonly setBy: EventId;
}

/** The place before all reminders, in the order of their list. */
const FIRST = { dueAt: -Number.MAX_SAFE_INTEGER, subscriber: '', resource: '', name: '' };

/** A schedule that a process has had, with its next and its last tick. */
export interface StoredSchedule {
  readonly name: string;
  /** when it comes, as JSON: a Spec */
  readonly spec: string;
  readonly nextAt: number;
  /** undefined before the first tick */
  readonly last: StoredEvent | undefined;
}

/** How many values one query of the states of all media or channels reads. */
const STATES_PAGE = 500;
/** In the order of an index: after a backlog, PostgreSQL would believe that many rows match, and search the whole table for the first. */
const isThere = (from: string) => `CASE WHEN (SELECT 1 FROM ${from} LIMIT 1) IS NULL THEN 0 ELSE 1 END`;
type Id = { readonly id: string };

/** Queries of events, their steps, states and reminders. */
export function eventReads(d: Dialect) {
  const searching = searchReads(d);
  const byId = `SELECT ${COLUMNS} FROM events e ${LANES} WHERE e.id = $id`;
  const siblings = `${byId} OR (e.id > $first AND e.id < $end) ORDER BY e.subscriber`;
  const attempts = `SELECT a.replay, a.attempt, a.started_at, a.ms AS duration_ms, a.outcome, a.error, a.log, a.instance
    FROM attempts a JOIN events e ON e.seq = a.event WHERE e.id = $id ORDER BY a.replay, a.attempt, a.started_at`;
  const running = `SELECT l.started_at, l.until AS lease_until, l.owner AS instance
    FROM events e ${LANES} WHERE e.id = $id AND l.lease IS NOT NULL`;
  const steps =
    'SELECT s.name, s.result FROM steps s JOIN events e ON e.seq = s.event WHERE e.id = $id ORDER BY s.name';
  const step = 'SELECT result FROM steps WHERE event = $seq AND name = $name';
  const holds = `SELECT 1 FROM lanes WHERE ${OF} AND resource = $resource AND lease = $lease AND event = $seq`;
  const state = `SELECT name, value FROM state WHERE ${OF} AND resource = $resource ORDER BY name`;
  const states = `SELECT resource, name, value FROM state
    WHERE ${OF} AND resource >= $least AND resource < $most
    AND (resource, name) > ($resource, $name) ORDER BY resource, name LIMIT ${STATES_PAGE}`;

  const last = `(SELECT seq FROM (${d.lastSeq}) s)`;
  const free = `lanes WHERE ${OF} AND lease IS NULL ORDER BY over_limit, ready_at`;
  const lost = `lanes WHERE ${OF} AND lease IS NOT NULL AND until < ${d.now} ORDER BY until`;
  const due = `events WHERE ${OF} AND held_by IS NULL AND next_at <= ${d.now} ORDER BY held_by, next_at`;
  const left = `events WHERE ${OF} AND held_by <= ${d.now} AND next_at IS NOT NULL ORDER BY held_by`;
  const reminder = `reminders WHERE ${OF} AND due_at <= ${d.now} ORDER BY due_at`;
  const work = `SELECT ${isThere(free)} AS is_ready, ${isThere(due)} + ${isThere(left)} AS is_due, ${isThere(lost)} AS is_lost,
    ${isThere(reminder)} AS is_reminder, ${isThere(`subscribers WHERE name = $subscriber AND place < ${last}`)} AS is_behind`;
  const subscribers = `SELECT name, kinds, (SELECT count(*) FROM (SELECT 1 FROM events
      WHERE seq > place AND subscriber = '' AND NOT ${IS_OWN} LIMIT ${LOOKED_AT}) b) AS behind
    FROM subscribers WHERE place IS NOT NULL ORDER BY name`;

  const set = `SELECT subscriber, resource, name, due_at, set_at,
      (SELECT id FROM events WHERE seq = set_by) AS set_by, data
    FROM reminders WHERE name <> ''`;
  const ofResource = `${set} AND ${OF} AND resource = $resource ORDER BY due_at, name`;
  const byTime = `${set} AND (due_at, subscriber, resource, name) > ($due_at, $subscriber, $resource, $name)
    ORDER BY due_at, subscriber, resource, name LIMIT $limit`;
  const schedules = `SELECT resource, data AS spec, due_at AS next_at FROM reminders
    WHERE name = '' AND subscriber = '' ORDER BY resource`;

  return {
    ...searching,
    problems,

    event: async (db: Db, id: Id) => (await eventsBy(db, byId, id))[0],

    /** What there may be to do for a subscriber: to claim, to wake, to recover, reminders, and to make events of its. 0 means no */
    work: (db: Db, of: Of & { readonly now: number }) =>
      one<Readonly<Record<'isReady' | 'isDue' | 'isLost' | 'isReminder' | 'isBehind', number>>>(db, work, of),

    /** The subscribers that have a place. */
    async subscribers(db: Db): Promise<Subscriber[]> {
      const rows = await db.all<Omit<Subscriber, 'kinds'> & { readonly kinds: string }>(subscribers);
      return rows.map((one) => ({ ...one, kinds: one.kinds.split(',') }));
    },

    /** All events of one notification, by one of their ids: that of the handlers without a name first. */
    async siblings(db: Db, { id }: Id): Promise<StoredEvent[]> {
      const [notification = ''] = id.split('@');
      // Between these are the ids that have an @ behind it.
      return eventsBy(db, siblings, { id: notification, first: `${notification}@`, end: `${notification}A` });
    },

    attempts: (db: Db, id: Id) => db.all<Attempt>(attempts, id),

    /**
     * The start that has not ended, if there is one. `leaseUntil`: from when on another process may take the event over; the one that runs
     * it moves this on as long as it lives.
     */
    running: (db: Db, id: Id) =>
      db.all<Pick<Attempt, 'startedAt' | 'instance'> & { readonly leaseUntil: number }>(running, id),

    steps: (db: Db, event: Id) => db.all<DoneStep>(steps, event),

    async step(db: Db, asked: LeaseKey & Of & { readonly name: string }) {
      const [done] = await db.all<Pick<DoneStep, 'result'>>(step, asked);
      return { done, isHeld: (await db.all(holds, asked)).length > 0 };
    },

    state: (db: Db, lane: Lane & Of) => db.all<StateValue>(state, lane),

    /** A stretch of the state of all media, or of all channels, in the order of resources and their names; nothing after the last. */
    states: (db: Db, { subscriber, of, after = { resource: '', name: '' } }: StatesQuery) =>
      db.all<StatePlace & StateValue>(states, { subscriber, least: `${of}:`, most: `${of};`, ...after }),

    /** The reminders that are set for a media or channel, the next one first. */
    remindersOf: async (db: Db, lane: Of & Lane) => db.all<SetReminder>(ofResource, lane),

    /** Those of all, the next one first, after a place. */
    reminders: async (db: Db, { after, limit }: { after?: typeof FIRST | undefined; limit: number }) =>
      db.all<SetReminder>(byTime, { ...FIRST, ...after, limit }),

    /** The schedules that processes have had, by name. */
    async schedules(db: Db): Promise<StoredSchedule[]> {
      const all: StoredSchedule[] = [];
      for (const { resource, ...one } of await db.all<Lane & StoredSchedule>(schedules)) {
        const newest = { filter: { subscriber: '', resource }, limit: 1, reach: 1 };
        const { events } = await searching.search(db, newest);
        all.push({ ...one, name: resource.replace('schedule:', ''), last: events[0] });
      }
      return all;
    },
  };
}
