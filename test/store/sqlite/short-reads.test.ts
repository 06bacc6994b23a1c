import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { EventFilter } from '../../../src/store/event-store.ts';
import { openReader, openWriter } from '../../../src/store/sqlite/open-sqlite.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { conditionOf } from '../../../src/store/sqlite/tables/filter-sql.ts';
import { insertEvents } from '../../support/insert-events.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// More events than one query looks at. What goes through them in steps has to find what one query would.

const EVENTS = 45_000;
const START = Date.UTC(2026, 0, 1);
const statuses = ['handled', 'skipped', 'dead', 'pending'] as const;

let directory: string;
let path: string;
let store: SqliteStore;

beforeAll(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  const db = openWriter(path);
  insertEvents(
    db,
    `SELECT n AS seq, ${START} + n * 1000 AS event_time, iif(n % 3, 'media_created', 'channel_idle') AS kind,
       'media:' || (n % 1000) AS resource, 'site' || (n % 5) AS site_id, n AS received_at,
       CASE WHEN n IN (7, 20000, 20001, 44999) THEN 'dead' WHEN n % 10 = 1 THEN 'skipped' ELSE 'handled' END AS status,
       NULL AS handled_at, NULL AS last_error, 'body ' || n AS body
     FROM (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${EVENTS}) SELECT n FROM numbers)`,
  );
  // As after a repair by hand.
  db.exec('DELETE FROM ledger WHERE seq BETWEEN 25000 AND 25500');
  db.close();
  store = await SqliteStore.open({ path, clock: new VirtualClock(), threads: false });
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const filters: fc.Arbitrary<EventFilter> = fc.record(
  {
    status: fc.constantFrom(...statuses),
    kind: fc.constantFrom('media_created', ['media_created', 'channel_idle'], 'unheard_of'),
    site: fc.constantFrom('site1', 'nowhere'),
    resource: fc.constantFrom('media:7', 'media:none'),
    q: fc.constantFrom('body 44', 'body 7', 'nowhere'),
    since: fc.integer({ min: 0, max: EVENTS }).map((n) => START + n * 1000),
    until: fc.integer({ min: 0, max: EVENTS }).map((n) => START + n * 1000),
  },
  { requiredKeys: [] },
);
const limits = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(30_000));

/** The numbers of the events that match, in the order of receipt. */
function matching(filter: EventFilter): number[] {
  const db = openReader(path);
  const { sql, params } = conditionOf(filter);
  const found = db
    .prepare<unknown[], number>(`SELECT seq FROM events WHERE ${sql} ORDER BY seq`)
    .pluck()
    .all(...params);
  db.close();
  return found;
}

/** In this database an event was received at its number. */
const numbers = (events: readonly { receivedAt: number }[]) => events.map(({ receivedAt }) => receivedAt);

test('counts and lists have all that matches, whatever the filter, in their order and up to their limit', async () => {
  await fc.assert(
    fc.asyncProperty(filters, limits, async (filter, limit) => {
      const all = matching(filter);
      expect(await store.count(filter)).toBe(all.length);
      expect(numbers(await store.events(filter, { limit }))).toEqual(all.toReversed().slice(0, limit));
      expect(numbers(await store.eventsAfter(filter, undefined, limit))).toEqual(all.slice(0, limit));
      expect(numbers(await store.receivedAfter(filter, undefined, limit))).toEqual(all.slice(0, limit));
    }),
    { numRuns: 25 },
  );
});

test('lists go on behind an event, when it stands anywhere, with the next that match', async () => {
  const [last] = await store.events({}, { limit: 1 });
  const middle = (await store.eventsAfter({}, undefined, 22_000)).at(-1);
  const dead = matching({ status: 'dead' });
  expect(numbers(await store.events({ status: 'dead' }, { before: last?.id, limit: 9 }))).toEqual(
    dead.toReversed(),
  );
  expect(numbers(await store.events({ status: 'dead' }, { before: middle?.id, limit: 9 }))).toEqual([
    20_001, 20_000, 7,
  ]);
  expect(numbers(await store.eventsAfter({ status: 'dead' }, middle?.id, 9))).toEqual([44_999]);
  expect(numbers(await store.receivedAfter({ status: 'dead' }, 20_000, 9))).toEqual([20_001, 44_999]);
  expect(await store.eventsAfter({}, last?.id, 9)).toEqual([]);
});

test('events are found by their ids, however far apart they are', async () => {
  const [first] = await store.eventsAfter({}, undefined, 1);
  const [last] = await store.events({}, { limit: 1 });
  const ids = [String(last?.id), String(first?.id), `0-${'0'.repeat(20)}`];
  expect(numbers(await store.eventsAfter({ ids }, undefined, 3))).toEqual([1, EVENTS]);
  expect(await store.count({ ids })).toBe(2);
});
