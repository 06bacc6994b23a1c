import type { Db, Dialect } from '../dialect.ts';
import { erasedName, type Timed } from '../stored.ts';
import { freeing, inOrder, type Lane, lockLanes, opening } from './lanes.ts';
import { inAll } from './lists/search.ts';
import { forgettingRuns } from './prune.ts';
import { type Due, WAVE } from './reset.ts';

export function eraseOperations(d: Dialect) {
  // A fan-out under way may have read a body: it ends first, and what it makes is found.
  const lockCursors = `SELECT name FROM subscribers ORDER BY name ${d.hasLocks ? 'FOR UPDATE' : ''}`;
  const open = opening(d);
  // A lease that has run out counts no more: after a crash, perhaps no process is there that recovers it.
  const lease = `CASE WHEN until >= ${d.now} THEN lease END AS lease`;
  const lock = lockLanes(d, `resource, ${lease}`);
  const freeLanes = freeing(d);
  const meant = `SELECT seq, resource FROM events WHERE subscriber = $subscriber AND ${d.among('resource', 'names')}
    AND site_id IN (coalesce($site, site_id), '')`;
  const find = `${inAll(meant)} LIMIT ${WAVE}`;
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const bySeq = d.rows('seq bigint, name text');
  const empty = `UPDATE events SET body = NULL, request = NULL, trace = NULL, site_id = '', resource = ${bySeq.name},
      status = CASE WHEN status IN ('pending', 'dead') THEN 'dismissed' ELSE status END, last_error = NULL,
      ended_at = coalesce(ended_at, $now), next_at = NULL, held_by = NULL, waiting = NULL
    ${bySeq.from} WHERE ${bySeq.is('events.seq')}`;
  const forgetRuns = forgettingRuns(d);
  const r = d.rows('resource text');
  const isOwn = 'AND subscriber = $subscriber';
  const forget = Object.entries({ state: isOwn, reminders: isOwn, channels: '' }).map(
    ([table, which]) => `DELETE FROM ${table} ${r.using} WHERE ${r.is(`${table}.resource`)} ${which}`,
  );

  return {
    /**
     * Empties events of some resources, 500 at most, and deletes what their runs, state and reminders say. Their resource becomes its digest.
     * What waits or is dead is dismissed. @returns how many, of how many resources a handler runs, which are left, and whether there is more
     */
    async erase(db: Db, { lanes, site, now, ...of }: Erased) {
      await db.all(lockCursors);
      // One that is not open has no lock, and an event that is recorded meanwhile could run before it is found here.
      const all = lanes.map((lane) => ({ ...lane, receivedAt: now }));
      await open(db, all, of.subscriber);
      const locked = await db.each<Lane & { readonly lease?: string }>(lock, lanes, { ...of, now });
      const free = locked.filter(({ lease }) => !lease);
      const names = free.map(({ resource }) => resource);
      const found = await db.all<Pick<Due, 'seq' | 'resource'>>(find, { ...of, names, site });
      const events = inOrder(found, 'seq').map(({ seq, resource }) => ({ seq, name: erasedName(resource) }));
      if (lockEvents) await db.each(lockEvents, events);
      await db.each(empty, events, { now });
      for (const sql of forgetRuns) await db.each(sql, events);
      for (const sql of forget) await db.each(sql, free, of);
      await freeLanes(db, free, of);
      return { events: events.length, running: lanes.length - free.length, hasMore: events.length === WAVE };
    },
  };
}

type Erased = Timed & { readonly lanes: readonly Lane[]; readonly site: string | undefined };
