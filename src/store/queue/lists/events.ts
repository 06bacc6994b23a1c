import type { Db, Dialect } from '../../dialect.ts';
import type { DoneStep, StateValue, StoredEvent } from '../../stored.ts';
import type { Lane, LeaseKey } from '../lanes.ts';
import { problemReads } from './problems.ts';
import { COLUMNS, type EventRow, eventOf, LANES, searchReads } from './search.ts';
import type { Attempt, RunningStart, StatePlace, States, StatesQuery } from './types.ts';

/** How many values one query of the states of all media or channels reads. */
const STATES_PAGE = 500;
const START: StatePlace = { resource: '', name: '' };
type Id = { readonly id: string };

/** What one reads of events, their steps and states. */
export function eventReads(d: Dialect) {
  const searching = searchReads(d);
  const event = `SELECT ${COLUMNS} FROM events e ${LANES} WHERE e.id = $id`;
  const attempts = `SELECT a.replay, a.attempt, a.started_at, a.ms AS duration_ms, a.outcome, a.error, a.log, a.instance
    FROM attempts a JOIN events e ON e.seq = a.event WHERE e.id = $id ORDER BY a.replay, a.attempt, a.started_at`;
  const running = `SELECT l.started_at, l.until AS lease_until, l.owner AS instance
    FROM events e ${LANES} WHERE e.id = $id AND l.lease IS NOT NULL`;
  const steps =
    'SELECT s.name, s.result FROM steps s JOIN events e ON e.seq = s.event WHERE e.id = $id ORDER BY s.name';
  const step = 'SELECT result FROM steps WHERE event = $seq AND name = $name';
  const holds = 'SELECT 1 FROM lanes WHERE resource = $resource AND lease = $lease AND event = $seq';
  const state = 'SELECT name, value FROM state WHERE resource = $resource ORDER BY name';
  const states = `SELECT resource, name, value FROM state WHERE resource >= $least AND resource < $most
    AND (resource, name) > ($resource, $name) ORDER BY resource, name LIMIT $limit`;

  return {
    ...searching,
    ...problemReads(d),

    async event(db: Db, id: Id): Promise<StoredEvent | undefined> {
      const [row] = await db.all<EventRow>(event, id);
      return row && eventOf(row);
    },

    attempts: (db: Db, id: Id) => db.all<Attempt>(attempts, id),

    running: async (db: Db, id: Id) => (await db.all<RunningStart>(running, id))[0],

    /** The events around one of its resource, newest event time first. */
    async timeline(db: Db, { id, each }: Id & { each: number }): Promise<StoredEvent[] | undefined> {
      const [row] = await db.all<EventRow>(event, { id });
      if (!row) return undefined;
      const filter = { resource: row.resource };
      const stretch = { after: id, reach: each, limit: each };
      const newer = await searching.search(db, { filter, stretch, order: 'oldest' });
      const older = await searching.search(db, { filter, stretch, order: 'newest' });
      return [...newer.events.toReversed(), eventOf(row), ...older.events];
    },

    async steps(db: Db, event: Id): Promise<DoneStep[]> {
      return (await db.all<DoneStep>(steps, event)).map(({ name, result = null }) => ({ name, result }));
    },

    async step(db: Db, asked: LeaseKey & { readonly name: string }) {
      const [row] = await db.all<DoneStep>(step, asked);
      const isHeld = (await db.all(holds, asked)).length > 0;
      return { done: row && { result: row.result ?? null }, isHeld };
    },

    state: (db: Db, lane: Lane) => db.all<StateValue>(state, lane),

    async states(db: Db, { of, name, after = START }: StatesQuery): Promise<States> {
      const params = { least: `${of}:`, most: `${of};`, ...after, limit: STATES_PAGE };
      const rows = await db.all<StatePlace & StateValue>(states, params);
      const last = rows.length === STATES_PAGE ? rows.at(-1) : undefined;
      return {
        values: name === undefined ? rows : rows.filter((row) => row.name === name),
        next: last && { resource: last.resource, name: last.name },
      };
    },
  };
}
