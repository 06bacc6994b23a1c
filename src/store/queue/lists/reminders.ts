import type { Db } from '../../dialect.ts';
import { OF } from '../../schema.ts';
import type { EventId, Of, Status } from '../../stored.ts';
import type { Lane } from '../lanes.ts';
import { INDEXED, LANES } from './search.ts';

/** A reminder that is set. Times are milliseconds since the epoch. */
export interface SetReminder extends Of, Lane {
  readonly name: string;
  readonly dueAt: number;
  readonly setAt: number;
  /** the id of the event that set it */
  readonly setBy: EventId;
  /** JSON */
  readonly data: string;
}

/** Where a stretch of the list of reminders ended. */
export type ReminderPlace = Pick<SetReminder, 'dueAt' | 'subscriber' | 'resource' | 'name'>;

/** A schedule that a process has had, with its next and its last tick. */
export interface StoredSchedule {
  readonly name: string;
  /** when it comes, as JSON: a Spec */
  readonly spec: string;
  readonly nextAt: number;
  /** undefined before the first */
  readonly lastId: EventId | undefined;
  readonly lastAt: number | undefined;
  readonly lastStatus: Status | undefined;
}

const FIRST: ReminderPlace = { dueAt: -Number.MAX_SAFE_INTEGER, subscriber: '', resource: '', name: '' };

const what = `SELECT subscriber, resource, name, due_at, set_at, data, (SELECT id FROM events WHERE seq = set_by) AS set_by
  FROM reminders WHERE name <> ''`;
const ofResource = `${what} AND ${OF} AND resource = $resource ORDER BY due_at, name`;
const byTime = `${what} AND (due_at, subscriber, resource, name) > ($due_at, $subscriber, $resource, $name)
  ORDER BY due_at, subscriber, resource, name LIMIT $limit`;
const schedules = `SELECT resource AS name, data AS spec, due_at AS next_at FROM reminders
  WHERE name = '' AND subscriber = '' ORDER BY resource`;
const newest = INDEXED.map(
  (which) => `SELECT * FROM (SELECT seq FROM events WHERE subscriber = '' AND resource = $name AND ${which}
    ORDER BY event_time DESC, seq DESC LIMIT 1) n`,
).join(' UNION ALL ');
const last = `SELECT e.id AS last_id, e.event_time AS last_at, CASE WHEN l.lease IS NULL THEN e.status ELSE 'running' END AS last_status
  FROM (${newest}) c JOIN events e ON e.seq = c.seq ${LANES} ORDER BY e.event_time DESC, e.seq DESC LIMIT 1`;

/** What one reads of reminders and schedules. */
export const reminderReads = {
  /** The reminders that are set for a media or channel, the next one first. */
  remindersOf: async (db: Db, lane: Of & Lane) => db.all<SetReminder>(ofResource, lane),

  /** Those of all, the next one first, after a place. */
  reminders: async (db: Db, { after = FIRST, limit }: { after?: ReminderPlace | undefined; limit: number }) =>
    db.all<SetReminder>(byTime, { ...after, limit }),

  /** The schedules that processes have had, by name. */
  async schedules(db: Db): Promise<StoredSchedule[]> {
    const rows = await db.all<StoredSchedule>(schedules);
    const all: StoredSchedule[] = [];
    for (const one of rows) {
      const [tick] = await db.all<Pick<StoredSchedule, 'lastId'>>(last, { name: one.name });
      all.push({ ...one, ...tick, name: one.name.replace('schedule:', '') });
    }
    return all;
  },
};
