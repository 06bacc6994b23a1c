import type { Db, Dialect } from '../dialect.ts';
import { erasedName, type Timed } from '../stored.ts';
import { freeing, inOrder, type Lane, type LeasedLane, lockLanes } from './lanes.ts';
import { INDEXED } from './lists/search.ts';
import { forgettingRuns } from './prune.ts';
import { type Due, WAVE } from './reset.ts';

export function eraseOperations(d: Dialect) {
  // A fan-out under way may have read a body: it ends first, and what it makes is found.
  const lockCursors = `SELECT name FROM subscribers ORDER BY name ${d.hasLocks ? 'FOR UPDATE' : ''}`;
  const lock = lockLanes(d);
  const freeLanes = freeing(d);
  const r = d.rows('resource text');
  const find = INDEXED.map(
    (which) => `SELECT seq, events.resource AS resource FROM ${r.beside}events
      WHERE ${r.is('events.resource')} AND subscriber = $subscriber AND ${which} LIMIT ${WAVE}`,
  );
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const bySeq = d.rows('seq bigint, name text');
  const empty = `UPDATE events SET body = NULL, request = NULL, webhook_id = '', site_id = '', resource = ${bySeq.name},
      status = CASE WHEN status IN ('pending', 'dead') THEN 'dismissed' ELSE status END, last_error = NULL,
      ended_at = coalesce(ended_at, $now), next_at = NULL, held_by = NULL, waiting = NULL
    ${bySeq.from} WHERE ${bySeq.is('events.seq')}`;
  const forgetRuns = forgettingRuns(d);
  const forget = ['state', 'reminders'].map(
    (table) =>
      `DELETE FROM ${table} ${r.using} WHERE ${r.is(`${table}.resource`)} AND subscriber = $subscriber`,
  );
  const forgetChannel = `DELETE FROM channels ${r.using} WHERE ${r.is('channels.resource')}`;

  return {
    /**
     * Empties events of some resources, 500 at most, and deletes what their runs, state and reminders say. Their resource becomes its digest.
     * What waits or is dead is dismissed. @returns how many, how many resources were left as a handler runs, and whether there are more events
     */
    async erase(db: Db, { lanes, now, ...of }: Timed & { readonly lanes: readonly Lane[] }) {
      await db.all(lockCursors);
      const locked = await db.each<LeasedLane>(lock, inOrder(lanes, 'resource'), of);
      const leased = new Set(locked.flatMap(({ lease, resource }) => (lease ? resource : [])));
      const free = inOrder(lanes, 'resource').filter(({ resource }) => !leased.has(resource));
      const found: Pick<Due, 'seq' | 'resource'>[] = [];
      for (const sql of find) found.push(...(await db.each<Due>(sql, free, of)));
      const events = inOrder(found, 'seq').slice(0, WAVE);
      if (lockEvents) await db.each(lockEvents, events);
      const rows = events.map(({ seq, resource }) => ({ seq, name: erasedName(resource) }));
      await db.each(empty, rows, { now });
      for (const sql of forgetRuns) await db.each(sql, events);
      for (const sql of [...forget, forgetChannel]) await db.each(sql, free, of);
      await freeLanes(db, free, of);
      return { events: events.length, running: leased.size, hasMore: events.length === WAVE };
    },
  };
}
