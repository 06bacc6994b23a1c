import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Database } from 'better-sqlite3';
import type { EventFilter } from '../../../src/store/event-store.ts';
import { openWriter } from '../../../src/store/sqlite/open-sqlite.ts';
import { timeline } from '../../../src/store/sqlite/queries/glance.ts';
import { search } from '../../../src/store/sqlite/queries/search.ts';
import { insertEvents } from '../../support/insert-events.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// A search that sorts reads everything that it may look at before it shows the first event. Where indexes have its order it reads
// no more than it shows.

const EVENTS = 2000;
const START = Date.UTC(2026, 0, 1);

let directory: string;
let db: Database;
/** the statements of a query and how SQLite does them */
let plans: string[] = [];

beforeAll(async () => {
  directory = await temporaryDirectory();
  const opened = openWriter(join(directory, 'receiver.db'));
  insertEvents(
    opened,
    `SELECT n AS seq, ${START} + n * 1000 AS event_time, iif(n % 3, 'media_created', 'media_deleted') AS kind,
       'media:' || (n % 4) AS resource, 'site' AS site_id, n AS received_at,
       CASE n % 4 WHEN 0 THEN 'dead' WHEN 1 THEN 'skipped' WHEN 2 THEN 'pending' ELSE 'handled' END AS status,
       NULL AS handled_at, NULL AS last_error, 'body ' || n AS body
     FROM (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${EVENTS}) SELECT n FROM numbers)`,
  );
  // The last ones are in the ledger only.
  opened.exec(`UPDATE cursors SET seq = ${EVENTS - 100} WHERE name = 'taken'`);
  opened.exec(`DELETE FROM work WHERE event > ${EVENTS - 100}`);
  db = Object.create(opened, {
    prepare: {
      value: (sql: string) => {
        const statement = opened.prepare(sql);
        const all = statement.all.bind(statement);
        statement.all = (...values) => {
          const steps = opened
            .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
            .all(...values);
          plans.push(steps.map(({ detail }) => detail).join('\n'));
          return all(...values);
        };
        return statement;
      },
    },
  });
});

afterAll(() => {
  db.close();
  rmSync(directory, { recursive: true });
});

/** How SQLite does the statement that looks at events. */
function planOf(query: () => unknown): string {
  plans = [];
  query();
  const [plan, ...others] = plans.filter((steps) => /\bledger\b/.test(steps) && !/tallies/.test(steps));
  expect(others).toEqual([]);
  return String(plan);
}

const stretch = { reach: 1000, limit: 10 };
const SORTS = 'TEMP B-TREE';
/** Of one resource, what is in the ledger only is sorted: that is what came within a second. */
const UNTAKEN_SORTED =
  /(SEARCH ledger .*\(rowid>\?\)\nSCALAR SUBQUERY \d+\nSEARCH cursors .*\n)USE TEMP B-TREE FOR ORDER BY/;
const withoutUntaken = (plan: string) => plan.replace(UNTAKEN_SORTED, '$1');

test.each<[string, EventFilter]>([
  ['everything', {}],
  ['one kind', { kind: 'media_deleted' }],
  ['what is pending', { status: 'pending' }],
  ['what is dead', { status: 'dead' }],
  ['what happened within times', { since: START + 1000, until: START + 1_000_000 }],
  ['a media', { resource: 'media:1' }],
])('a search for %s sorts nothing', (_, filter) => {
  const find = search(db);
  const first = find({ filter, stretch });
  expect(first.events).toHaveLength(10);
  const plan = planOf(() => find({ filter, stretch: { ...stretch, before: first.next } }));
  expect(withoutUntaken(plan)).not.toContain(SORTS);
});

test('a timeline sorts nothing', () => {
  const { events } = search(db)({ filter: { resource: 'media:2' }, stretch: { ...stretch, limit: 60 } });
  const middle = String(events[40]?.id);
  plans = [];
  expect(timeline(db)({ id: middle, each: 5 })?.events).toHaveLength(11);
  expect(plans).toHaveLength(2);
  for (const plan of plans) expect(withoutUntaken(plan)).not.toContain(SORTS);
});

test('a search that has to sort is seen by this test', () => {
  const filter = { kind: 'media_deleted', since: START + 1000 };
  expect(planOf(() => search(db)({ filter, stretch }))).toContain(SORTS);
});
