import { slotOf } from '../../notification/kinds.ts';
import type { Db, Dialect } from '../dialect.ts';
import { IS_OWN } from '../schema.ts';
import type { EventId, Of } from '../stored.ts';
import { searchReads } from './lists/search.ts';
import { type Chosen, type Due, type Held, WAVE } from './reset.ts';

/** How far a subscriber has come, and what it handles. */
interface Cursor {
  /** the seq of the last event that was looked at for it; undefined once it is removed */
  readonly place: number | undefined;
  /** slots, separated by commas */
  readonly kinds: string;
}

/** A notification that a subscriber may get an event of. */
type Source = { readonly seq: number; readonly kind: string; readonly isGone: number };

/** How subscribers get events of their own. The store makes them of what is recorded, whichever process recorded it. */
export function fanOutOperations(d: Dialect) {
  const { lastSeq } = searchReads(d);
  const cursor = 'SELECT place, kinds FROM subscribers WHERE name = $subscriber';
  // Nobody waits for a cursor: a process that stands still would hold a connection of each other one.
  const freeCursor = `${cursor} ${d.skipLocked}`;
  const lockCursor = `${cursor} ${d.hasLocks ? 'FOR UPDATE' : ''}`;
  const add = "INSERT INTO subscribers (name, kinds) VALUES ($subscriber, '') ON CONFLICT (name) DO NOTHING";
  const move = 'UPDATE subscribers SET place = $place, kinds = $kinds WHERE name = $subscriber';
  const forget = 'DELETE FROM reminders WHERE subscriber = $subscriber';
  const remove = `UPDATE subscribers SET place = NULL, kinds = '' WHERE name = $subscriber AND place IS NOT NULL RETURNING name`;
  const bySeq = d.rows('seq bigint');
  const own = "events.id || '@' || CAST($subscriber AS text)";
  // Gone: retention has emptied it, and the subscriber has no event of it.
  const source = `events.seq AS seq, kind,
    CASE WHEN body IS NULL AND (SELECT o.seq FROM events o WHERE o.id = ${own}) IS NULL THEN 1 ELSE 0 END AS is_gone`;
  const next = `SELECT ${source} FROM events WHERE seq > $place AND seq <= $last
    AND subscriber = '' AND NOT ${IS_OWN} ORDER BY seq LIMIT ${WAVE}`;
  const chosen = `SELECT ${source} FROM ${bySeq.beside}events WHERE ${bySeq.is('events.seq')} AND subscriber = ''
    AND NOT ${IS_OWN}`;
  // If a start was cut short, the next one takes over the events that it made and did not release.
  // Those of the past have been asked for, so that nobody is told how old they are: asked_at is set as by a handler that asks.
  const held = 'CAST($held_by AS bigint)';
  const make = `INSERT INTO events (id, subscriber, origin, kind, webhook_id, site_id, resource, event_time, received_at, body,
      request, trace, last_delivery_at, next_at, held_by, asked_at)
    SELECT ${own}, $subscriber, origin, kind, webhook_id, site_id, resource, event_time, received_at, body,
      request, trace, received_at, ${held}, ${held}, ${held}
    FROM ${bySeq.beside}events WHERE ${bySeq.is('events.seq')} AND body IS NOT NULL
    ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, held_by = excluded.held_by
      WHERE excluded.held_by IS NOT NULL AND events.held_by IS NOT NULL AND events.replays = 0
    RETURNING seq, id, resource, received_at`;

  /** Makes events of those that a subscriber handles, and counts those that have no body any more. */
  const makeOf = async (db: Db, sources: Source[], kinds: string, of: Of & { heldBy?: number }) => {
    const slots = new Set(kinds.split(','));
    // A later version of the kit may know the kind by its name.
    const wanted = sources.filter(({ kind }) => slots.has(slotOf({ kind })) || slots.has(kind));
    const made = await db.each<Due & { readonly id: EventId }>(make, wanted, of);
    return { made, pruned: wanted.filter(({ isGone }) => isGone === 1).length };
  };

  return {
    /** Has a subscriber from now on, or one more kind for it. One that is there goes on from its place. */
    async subscribe(db: Db, { subscriber, kinds }: Of & { kinds: readonly string[] }): Promise<void> {
      await db.all(add, { subscriber });
      const [row] = await db.all<Cursor>(lockCursor, { subscriber });
      const all = [...new Set([...(row?.kinds.split(',') ?? []), ...kinds])].filter(Boolean).sort().join();
      // Not the last seq of all: an ack under way may have a lower one.
      await db.all(move, { subscriber, place: row?.place ?? (await lastSeq(db)), kinds: all });
    },

    /**
     * Makes a subscriber's events of what was recorded since the last step, 500 at most, up to the last seq below which everything is
     * committed. The caller opens their lanes. @returns them; none where another process is at it
     */
    async fanOut(db: Db, { subscriber }: Of): Promise<Due[]> {
      const [row] = await db.all<Cursor>(freeCursor, { subscriber });
      if (row?.place === undefined) return [];
      const last = await lastSeq(db); // after the cursor is locked
      const sources = await db.all<Source>(next, { subscriber, place: row.place, last });
      const place = sources.length === WAVE ? sources.at(-1)?.seq : Math.max(row.place, last);
      const { made } = await makeOf(db, sources, row.kinds, { subscriber });
      await db.all(move, { subscriber, place, kinds: row.kinds });
      return made;
    },

    /** Makes the events of a subscriber that it has not yet, and holds them. Those are left whose body is gone. */
    async makeHeld(db: Db, { events, subscriber, heldBy }: Held & Pick<Chosen, 'events'>) {
      const [row] = await db.all<Cursor>(lockCursor, { subscriber });
      const sources = await db.each<Source>(chosen, events, { subscriber });
      const { made, pruned } = await makeOf(db, sources, row?.kinds ?? '', { subscriber, heldBy });
      return { ids: made.map(({ id }) => id), left: pruned };
    },

    /** Gives a subscriber no further events, and forgets its reminders. @returns whether it was there */
    async unsubscribe(db: Db, of: Of): Promise<boolean> {
      const removed = await db.all(remove, of); // first, as an erase locks cursors before reminders
      await db.all(forget, of);
      return removed.length > 0;
    },
  };
}
