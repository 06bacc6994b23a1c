import type { Db } from '../../dialect.ts';
import { OF } from '../../schema.ts';
import type { EventId, Of, StoredEvent } from '../../stored.ts';
import type { Lane } from '../lanes.ts';
import type { Reminder } from '../reminders.ts';
import type { searchReads } from './search.ts';

/** A reminder that is set. Times are milliseconds since the epoch. */
export interface SetReminder extends Of, Pick<Reminder, 'resource' | 'name' | 'dueAt' | 'setAt' | 'data'> {
  /** the id of the event that set it */
  readonly setBy: EventId;
}

/** Where a stretch of the list of reminders ended. */
export type ReminderPlace = Pick<SetReminder, 'dueAt' | 'subscriber' | 'resource' | 'name'>;

/** A schedule that a process has had, with its next and its last tick. */
export interface StoredSchedule {
  readonly name: string;
  /** when it comes, as JSON: a Spec */
  readonly spec: string;
  readonly nextAt: number;
  /** undefined before the first tick */
  readonly last: StoredEvent | undefined;
}

const FIRST: ReminderPlace = { dueAt: -Number.MAX_SAFE_INTEGER, subscriber: '', resource: '', name: '' };

const what = `SELECT subscriber, resource, name, due_at, set_at,
    (SELECT id FROM events WHERE seq = set_by) AS set_by, data
  FROM reminders WHERE name <> ''`;
const ofResource = `${what} AND ${OF} AND resource = $resource ORDER BY due_at, name`;
const byTime = `${what} AND (due_at, subscriber, resource, name) > ($due_at, $subscriber, $resource, $name)
  ORDER BY due_at, subscriber, resource, name LIMIT $limit`;
const schedules = `SELECT resource, data AS spec, due_at AS next_at FROM reminders
  WHERE name = '' AND subscriber = '' ORDER BY resource`;

/** Queries of reminders and schedules. */
export const reminderReads = ({ search }: ReturnType<typeof searchReads>) => ({
  /** The reminders that are set for a media or channel, the next one first. */
  remindersOf: async (db: Db, lane: Of & Lane) => db.all<SetReminder>(ofResource, lane),

  /** Those of all, the next one first, after a place. */
  reminders: async (db: Db, { after = FIRST, limit }: { after?: ReminderPlace | undefined; limit: number }) =>
    db.all<SetReminder>(byTime, { ...after, limit }),

  /** The schedules that processes have had, by name. */
  async schedules(db: Db): Promise<StoredSchedule[]> {
    const all: StoredSchedule[] = [];
    for (const { resource, ...one } of await db.all<Lane & StoredSchedule>(schedules)) {
      const newest = { filter: { subscriber: '', resource }, stretch: { limit: 1, reach: 1 } };
      const { events } = await search(db, newest);
      all.push({ ...one, name: resource.replace('schedule:', ''), last: events[0] });
    }
    return all;
  },
});
