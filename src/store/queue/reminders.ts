import { hash } from 'node:crypto';
import { lastOf, nextOf } from '../../base/schedule.ts';
import { type Db, type Dialect, dropping, one } from '../dialect.ts';
import { IS_OWN, OF } from '../schema.ts';
import { eventId, ofSubscriber, type ReminderChange, type Scheduled, type Timed } from '../stored.ts';
import { inOrder, type Lane, opening } from './lanes.ts';
import { lockingIdle, WAVE } from './reset.ts';

/** A reminder; without a name, it is the next time of a schedule, whose `data` says when it comes. */
export interface Reminder extends Scheduled {
  readonly name: string;
  readonly dueAt: number;
  readonly setAt: number;
  /** the seq of the event that set it, its replay and its start */
  readonly setBy: number | undefined;
  readonly replay: number | undefined;
  readonly start: number | undefined;
  /** now, by the clock of the database */
  readonly now: number;
}

const COLUMNS = 'resource, name, due_at, set_at, set_by, replay, start, data';

/** Sets and forgets reminders, and ends what they have become that waits still. What runs is left alone. The caller has locked the lanes. */
export function changingReminders(d: Dialect) {
  const lockIdle = lockingIdle(d);
  const r = d.rows(
    'resource text, name text, at bigint, after_ms bigint, set_by bigint, replay int, start int, data text',
  );
  const set = `INSERT INTO reminders (subscriber, ${COLUMNS}) SELECT $subscriber, ${r.resource}, ${r.name},
      coalesce(${r.at}, ${d.now} + ${r.after_ms}), ${d.now}, ${r.set_by}, ${r.replay}, ${r.start},
      coalesce(${r.data}, 'null') ${r.from} WHERE true
    ON CONFLICT (subscriber, resource, name) DO UPDATE SET due_at = excluded.due_at, set_at = excluded.set_at,
      set_by = excluded.set_by, replay = excluded.replay, start = excluded.start, data = excluded.data`;
  const drop = dropping(d, 'reminders');
  const pending = `SELECT seq, events.resource AS resource, origin, body, ${r.name} AS name FROM ${r.beside}events
    WHERE ${r.is('events.resource')} AND subscriber = $subscriber AND ${IS_OWN} AND status = 'pending'`;
  const bySeq = d.rows('seq bigint');
  const end = `UPDATE events SET status = 'skipped', last_error = $reason, next_at = NULL, held_by = NULL, waiting = NULL,
    ended_at = $now ${bySeq.from} WHERE ${bySeq.is('events.seq')} AND status = 'pending'`;
  const isSet = ({ at, afterMs }: ReminderChange) => (at ?? afterMs) !== undefined;
  return {
    set,
    async change(db: Db, changes: readonly (Lane & ReminderChange)[], of: Timed, reason = 'forgotten') {
      await db.each(set, changes.filter(isSet), of);
      const forgotten = changes.filter((one) => !isSet(one));
      await db.each(drop, forgotten, of);
      const found = await db.each<Pending>(pending, changes, of);
      const meant = found.filter(({ origin, body, name }) =>
        origin === 'schedule' ? name === '' : JSON.parse(body).name === name,
      );
      await db.each(end, await lockIdle(db, meant, of), { now: of.now, reason });
    },
  };
}

type Pending = Readonly<Record<'origin' | 'body' | 'name', string>> & Lane & { readonly seq: number };

/** How reminders and the times of schedules become events. */
export function reminderOperations(d: Dialect) {
  const open = opening(d);
  const { set, change } = changingReminders(d);
  const due = `SELECT ${COLUMNS} FROM reminders WHERE ${OF} AND due_at <= ${d.now} AND name <> '' ORDER BY due_at LIMIT ${WAVE}`;
  // By themselves: behind a backlog of reminders, a tick does not wait.
  const r = d.rows('resource text, data text');
  const all = COLUMNS.replaceAll(/\w+/g, 'reminders.$&');
  const ticking = `SELECT ${all} FROM ${r.beside}reminders WHERE ${r.is('reminders.resource')} AND subscriber = $subscriber
    AND name = '' AND reminders.data = ${r.data} AND due_at <= ${d.now}`;
  // `+ 0`, as PostgreSQL would read all that are due for each 128 rows: 140 ms against 30, with 10,000 of them.
  const take = `${dropping(d, 'reminders')} AND due_at + 0 <= ${d.now} RETURNING ${all}, ${d.now} AS now`;
  const event = d.rows(
    'id text, origin text, kind text, resource text, event_time bigint, body text, set_by bigint',
  );
  const ofSetter = (what: string) => `coalesce((SELECT ${what} FROM events WHERE seq = ${event.set_by}), '')`;
  const add = `INSERT INTO events (id, subscriber, origin, kind, webhook_id, site_id, resource, event_time, received_at, body,
      last_delivery_at)
    SELECT ${event.id}, $subscriber, ${event.origin}, ${event.kind}, ${ofSetter('webhook_id')}, ${ofSetter('site_id')},
    ${event.resource}, ${event.event_time}, $now, ${event.body}, $now ${event.from} WHERE true ON CONFLICT (id) DO NOTHING`;

  /** The next time of a schedule, as a change of its reminder. */
  const next = ({ resource, data }: Scheduled, now: number) => {
    return { resource, name: '', at: nextOf(JSON.parse(data), now), data };
  };

  return {
    /** Adds schedules. An existing one keeps its time, unless its times have changed. */
    async schedule(db: Db, { list, ...of }: Timed & { list: readonly Scheduled[] }): Promise<void> {
      const { now } = await one<Pick<Reminder, 'now'>>(db, `SELECT ${d.now} AS now`, of);
      const changes = list.map((one) => next(one, now));
      await db.each(`${set} WHERE reminders.data <> excluded.data`, changes, of);
    },

    /**
     * Makes events of reminders that are due, 500 at most, and of the times of those schedules that come as `schedules` says: of those missed,
     * the last. Only who holds its lane inserts such an event: so the lanes come first here. @returns their resources
     */
    async comeDue(db: Db, { schedules = [], ...of }: Timed & { schedules?: readonly Scheduled[] }) {
      const ours = await db.each<Reminder>(ticking, schedules, of);
      const found = [...ours, ...(await db.all<Reminder>(due, of))];
      const opened = found.map(({ resource }) => ({ resource, receivedAt: of.now }));
      await open(db, opened, of.subscriber);
      const taken = await db.each<Reminder>(take, found, of);
      const ticks = taken.filter(({ name }) => name === '').map((tick) => next(tick, tick.now));
      await change(db, ticks, of, 'superseded');
      const events = taken.map((one) => eventOf(one, of));
      await db.each(add, inOrder(events, 'id'), of);
      return events.map(({ resource }) => resource);
    },
  };
}

/** The event of a reminder, or of the last time of a schedule. */
function eventOf(reminder: Reminder, { subscriber }: Timed) {
  const { resource, name, setBy, replay, start, data, now } = reminder;
  const isTick = name === '';
  const eventTime = isTick ? Math.max(reminder.dueAt, lastOf(JSON.parse(data), now) ?? 0) : reminder.dueAt;
  const what = JSON.stringify([subscriber, resource, name, eventTime, setBy, replay, start]);
  const [, of, about] = /^(media|channel|schedule):(.*)$/s.exec(resource) ?? [];
  const kind = isTick ? resource : 'reminder';
  const ids = of && !isTick && { [`${of}_id`]: about };
  const times = { set_at: new Date(reminder.setAt), due_at: new Date(eventTime) };
  const body = JSON.stringify({ event: kind, ...ids, name: name || about, data: JSON.parse(data), ...times });
  const id = ofSubscriber(eventId(eventTime, hash('sha256', what, 'buffer')), subscriber);
  return { id, origin: isTick ? 'schedule' : 'reminder', kind, resource, eventTime, body, setBy };
}
