import { hash } from 'node:crypto';
import { lastOf, nextOf } from '../../base/schedule.ts';
import type { Origin } from '../../notification/kinds.ts';
import { type Db, type Dialect, dropping, insert, one } from '../dialect.ts';
import { IS_OWN, OF } from '../schema.ts';
import {
  eventId,
  type Of,
  ofSubscriber,
  type ReminderChange,
  type Scheduled,
  type StoredEvent,
} from '../stored.ts';
import { inOrder, type Lane, opening } from './lanes.ts';
import { endingIdle, WAVE } from './reset.ts';

type Timed = Of & { readonly now: number };

/** A reminder; without a name, it is the next time of a schedule, whose `data` says when it comes. */
interface Reminder extends Lane {
  readonly name: string;
  readonly dueAt: number;
  readonly setAt: number;
  /** the event that set it, its replay and its start */
  readonly setBy?: number | undefined;
  readonly replay?: number | undefined;
  readonly start?: number | undefined;
  /** JSON */
  readonly data?: string | undefined;
}

/** The lane of a schedule. */
const laneOf = (name: string) => `schedule:${name}`;

const COLUMNS = 'resource, name, due_at, set_at, set_by, replay, start, data';

/** Ends events that reminders have become and that wait still. What runs is left alone. */
function endingPending(d: Dialect) {
  const endIdle = endingIdle(d);
  const r = d.rows('resource text, name text');
  const pending = `SELECT seq, origin, body, ${r.name} AS name FROM ${r.beside}events
    WHERE ${r.is('events.resource')} AND subscriber = $subscriber AND ${IS_OWN} AND status = 'pending'`;
  return async (
    db: Db,
    reminders: readonly Pick<Reminder, 'resource' | 'name'>[],
    of: Timed,
    reason: string,
  ) => {
    const found = await db.each<Record<'origin' | 'body' | 'name', string> & { seq: number }>(
      pending,
      reminders,
      of,
    );
    const seqs = found.filter(({ origin, body, name }) =>
      origin === 'schedule' ? name === '' : JSON.parse(body).name === name,
    );
    await endIdle(db, { ...of, seqs, still: 'pending', status: 'skipped', reason });
  };
}

/** Sets reminders. Where a schedule is there, it keeps its next time, unless it is to come at others. */
function setting(d: Dialect): string {
  const r = d.rows(
    'resource text, name text, at bigint, after_ms bigint, set_by bigint, replay int, start int, data text',
  );
  return `INSERT INTO reminders (subscriber, ${COLUMNS}) SELECT $subscriber, ${r.resource}, ${r.name},
      coalesce(${r.at}, ${d.now} + ${r.after_ms}), ${d.now}, ${r.set_by}, ${r.replay}, ${r.start}, ${r.data} ${r.from} WHERE true
    ON CONFLICT (subscriber, resource, name) DO UPDATE SET due_at = excluded.due_at, set_at = excluded.set_at,
      set_by = excluded.set_by, replay = excluded.replay, start = excluded.start, data = excluded.data
      WHERE reminders.name <> '' OR reminders.data <> excluded.data`;
}

/** Sets and forgets reminders of lanes that the caller has locked. */
export function settingReminders(d: Dialect) {
  const endPending = endingPending(d);
  const set = setting(d);
  const drop = dropping(d, 'reminders');
  return async (db: Db, changes: readonly (Lane & ReminderChange)[], of: Timed): Promise<void> => {
    const isSet = ({ at, afterMs }: ReminderChange) => (at ?? afterMs) !== undefined;
    const forgotten = changes.filter((one) => !isSet(one));
    await db.each(set, changes.filter(isSet), of);
    await db.each(drop, forgotten, of);
    await endPending(db, changes, of, 'forgotten');
  };
}

/** How reminders and the times of schedules become events. */
export function reminderOperations(d: Dialect) {
  const open = opening(d);
  const endPending = endingPending(d);
  const due = `SELECT ${COLUMNS} FROM reminders WHERE ${OF} AND due_at <= ${d.now} ORDER BY due_at LIMIT ${WAVE}`;
  const take = `${dropping(d, 'reminders')} AND due_at <= ${d.now}
    RETURNING ${COLUMNS.replaceAll(/\w+/g, 'reminders.$&')}`;
  const bySeq = d.rows('seq bigint');
  const readSetters = `SELECT events.seq AS seq, id, site_id, webhook_id FROM ${bySeq.beside}events WHERE ${bySeq.is('events.seq')}`;
  const add = insert(
    d,
    'events',
    'id text, subscriber text, origin text, kind text, webhook_id text, site_id text, resource text, event_time bigint, ' +
      'received_at bigint, body text, last_delivery_at bigint',
    'ON CONFLICT (id) DO NOTHING',
  );
  const set = setting(d);

  /** Sets the next time of schedules, by the clock of the database. */
  const setNext = async (db: Db, lanes: readonly Pick<Reminder, 'resource' | 'data'>[], now: number) => {
    const rows = lanes.flatMap(({ resource, data = '' }) => {
      const at = nextOf(JSON.parse(data), now);
      return at === undefined ? [] : { resource, name: '', at, data };
    });
    await db.each(set, rows, { subscriber: '', now });
  };
  const clock = async (db: Db, of: { now: number }) =>
    (await one<{ at: number }>(db, `SELECT ${d.now} AS at`, of)).at;

  return {
    /** Has schedules from now on. One that is there already keeps its time, unless it is to come at others. */
    async schedule(db: Db, { list, ...of }: { list: readonly Scheduled[]; now: number }): Promise<void> {
      const lanes = list.map(({ name, spec }) => ({ resource: laneOf(name), data: spec }));
      await setNext(db, inOrder(lanes, 'resource'), await clock(db, of));
    },

    /**
     * Makes events of reminders that are due, 500 at most, and of the times of those schedules that come as `schedules` says: of those missed,
     * the last. Only who holds its lane inserts such an event: so the lanes come first here. @returns their resources
     */
    async comeDue(db: Db, { schedules = [], ...of }: Timed & { schedules?: readonly Scheduled[] }) {
      const { subscriber, now } = of;
      const specs = new Map(schedules.map(({ name, spec }) => [laneOf(name), spec]));
      const isOurs = ({ name, resource, data }: Reminder) => name !== '' || specs.get(resource) === data;
      const found = (await db.all<Reminder>(due, of)).filter(isOurs);
      await open(
        db,
        found.map(({ resource }) => ({ resource, receivedAt: now })),
        subscriber,
      );
      const taken = await db.each<Reminder>(take, found, of);
      const setBy = taken.flatMap(({ setBy: seq }) => (seq === undefined ? [] : { seq }));
      const setters = await db.each<Setter>(readSetters, setBy);
      const at = await clock(db, of);
      const events = taken.map((reminder) => {
        const setter = setters.find(({ seq }) => seq === reminder.setBy);
        return { ...eventOf(reminder, setter, subscriber, at), receivedAt: now, lastDeliveryAt: now };
      });
      const ticks = taken.filter(({ name }) => name === '');
      await endPending(db, ticks, of, 'superseded');
      await db.each(add, inOrder(events, 'id'));
      await setNext(db, ticks, at);
      return events.map(({ resource }) => resource);
    },
  };
}

type Setter = Pick<StoredEvent, 'seq' | 'id' | 'siteId' | 'webhookId'>;

/** The event of a reminder, or of the last time of a schedule. */
function eventOf(
  { name, setAt, data = 'null', ...due }: Reminder,
  setter: Setter | undefined,
  subscriber: string,
  at: number,
) {
  const { resource, replay, start } = due;
  const isTick = name === '';
  const eventTime = isTick ? Math.max(due.dueAt, lastOf(JSON.parse(data), at) ?? 0) : due.dueAt;
  const what = JSON.stringify([subscriber, resource, name, eventTime, setter?.id, replay, start]);
  const id = ofSubscriber(eventId(eventTime, hash('sha256', what, 'buffer')), subscriber);
  const kind = isTick ? resource : 'reminder';
  const [, of, ofId] = /^(media|channel):(.*)$/s.exec(resource) ?? [];
  const about = isTick
    ? { name: resource.replace('schedule:', '') }
    : { ...(of && { [`${of}_id`]: ofId }), name, data: JSON.parse(data), set_at: new Date(setAt) };
  const body = JSON.stringify({ event: kind, ...about, due_at: new Date(eventTime) });
  const { siteId = '', webhookId = '' } = setter ?? {};
  const origin: Origin = isTick ? 'schedule' : 'reminder';
  return { id, subscriber, origin, kind, webhookId, siteId, resource, eventTime, body };
}
