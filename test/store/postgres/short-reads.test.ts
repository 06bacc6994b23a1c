import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Awaitable } from '../../../src/store/driver.ts';
import type { Listed, Queries } from '../../../src/store/driver-store.ts';
import type { EventFilter, Status, StoredEvent } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { ReadLink } from '../../../src/store/postgres/links.ts';
import { queriesOf } from '../../../src/store/postgres/queries/index.ts';
import { type EventRow, toEvent } from '../../../src/store/postgres/tables/rows.ts';
import { matcher } from '../../../src/store/semantics/matching.ts';
import { ExplainedDatabase } from '../../support/explained.ts';
import { insertPostgresEvents } from '../../support/insert-postgres-events.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { BELIEFS, letBelieve } from '../../support/postgres-statistics.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { runs, size } from '../../support/sizes.ts';

// More events than one query looks at. What goes through them in steps has to find what one query would, and no step may
// read for long. The server analyses its tables within a minute or two; before that, a sort of all may look cheaper to it.

const EVENTS = size({ small: 45_000, full: 150_000 });
/** These are in the ledger only. */
const UNTAKEN = 300;
/** How many events a step of a list looks at. */
const REACH = 20_000;
const START = Date.UTC(2026, 0, 1);
const statuses = ['handled', 'skipped', 'dead', 'pending', 'running'] as const;

await describeWithPostgres('the queries of PostgreSQL', (server) => {
  let database: Database;
  let explained: ExplainedDatabase;
  let reads: ReadLink;
  /** how many rows each step of the last statements went through */
  const read: { readonly rows: number; readonly step: string }[] = [];
  let name: string;
  let queries: Queries;
  let all: StoredEvent[];

  beforeAll(async () => {
    name = await createDatabase(server);
    const options = { url: server.url(name), connections: 1, name: 'reads' };
    database = new Database(options);
    explained = new ExplainedDatabase(options, (rows, step) => read.push({ rows, step }));
    reads = new ReadLink(explained);
    const session = database.statements;
    await insertPostgresEvents(
      session,
      `SELECT n AS event, ${START} + n * 1000 - n % 7 * 30000 AS event_time,
         CASE WHEN n % 20000 = 5 THEN 'track_deleted' WHEN n % 3 = 0 THEN 'channel_idle' ELSE 'media_created' END AS kind,
         CASE WHEN n % 15 = 1 THEN 'media:many' ELSE 'media:' || n % 1000 END AS resource, 'site' || n % 5 AS site_id,
         n AS received_at, CASE WHEN n % 4000 = 7 THEN 'dead' WHEN n % 10 = 1 THEN 'skipped'
           WHEN n % 5000 = 9 THEN 'running' WHEN n % 20 = 8 THEN 'pending' ELSE 'handled' END AS status,
         CASE WHEN n % 1000 = 8 THEN 9000000000000 END AS next_attempt_at,
         CASE WHEN n % 10000 <> 4 THEN 'body ' || n END AS body
       FROM generate_series(1::bigint, ${EVENTS}) AS n`,
      EVENTS - UNTAKEN,
    );
    const rows = await session.rows<EventRow>('SELECT * FROM hookkit.events ORDER BY event');
    all = rows.map(toEvent);
    queries = queriesOf(session);
    await session.script('ANALYZE');
  }, 300_000);

  afterAll(async () => {
    await Promise.all([database.close(), explained.close()]);
    await dropDatabase(server, name);
  });

  const time = fc.integer({ min: 0, max: EVENTS }).map((n) => START + n * 1000);
  const filters: fc.Arbitrary<EventFilter> = fc.record(
    {
      status: fc.constantFrom<Status>(...statuses),
      kind: fc.constantFrom(
        'media_created',
        ['track_deleted', 'channel_idle'],
        'track_deleted',
        'unheard_of',
      ),
      site: fc.constantFrom('site1', 'nowhere'),
      resource: fc.constantFrom('media:7', 'media:many', 'media:none'),
      q: fc.constantFrom('body 44', 'body 7', 'nowhere'),
      since: time,
      until: time,
    },
    { requiredKeys: [] },
  );
  const limits = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(30_000));

  /** All steps of a list. */
  async function stepped<T>(limit: number, step: (at?: number, left?: number) => Awaitable<Listed<T>>) {
    const found: T[] = [];
    for (let at: number | undefined, isFirst = true; isFirst || at !== undefined; isFirst = false) {
      const { found: more, next }: Listed<T> = await step(at, limit - found.length);
      found.push(...more);
      at = next;
    }
    return found;
  }

  /** In this database an event was received at its number. */
  const numbers = (events: readonly Pick<StoredEvent, 'receivedAt'>[]) =>
    events.map(({ receivedAt }) => receivedAt);

  test('count and list all that matches, whatever the filter, in its order and up to the limit', async () => {
    const property = fc.asyncProperty(filters, limits, async (filter, limit) => {
      const expected = numbers(all.filter(matcher(filter)));
      const list = (query: 'events' | 'eventsAfter') =>
        stepped(limit, (at, left = limit) => queries[query]({ filter, from: undefined, at, limit: left }));
      let counted = 0;
      await stepped(0, async (at) => {
        const { events, next } = await queries.count({ filter, at });
        counted += events;
        return { found: [], next };
      });
      expect(counted).toBe(expected.length);
      expect(numbers(await list('events'))).toEqual(expected.toReversed().slice(0, limit));
      expect(numbers(await list('eventsAfter'))).toEqual(expected.slice(0, limit));
    });
    await fc.assert(property, { numRuns: runs(40) });
  });

  test('find all that matches, when a search goes on until its end, whatever it goes along', async () => {
    const property = fc.asyncProperty(filters, async (filter) => {
      const found: number[] = [];
      for (let before: string | undefined, steps = 0; steps < 6; steps++) {
        const { events, next } = await queries.search({
          filter,
          stretch: { before, reach: REACH, limit: 15_000 },
        });
        found.push(...numbers(events));
        before = next;
        if (next === undefined) {
          expect(found.toSorted((one, other) => one - other)).toEqual(numbers(all.filter(matcher(filter))));
          return;
        }
      }
      expect(new Set(found).size).toBe(found.length);
    });
    await fc.assert(property, { numRuns: runs(40) });
  });

  test.each(BELIEFS)(
    'read no more than their reach and what is new, whatever the filter, where the server %s',
    async (belief) => {
      await letBelieve(server, name, belief);
      const property = fc.asyncProperty(filters, time, async (filter, at) => {
        const event = all[Math.floor((at - START) / 1000) % all.length]?.id ?? '';
        const stretch = { before: event, reach: REACH, limit: 50 };
        const step = { filter, from: event, at: undefined, limit: 50 };
        const each = {
          search: () => reads.request('search', { filter, stretch }),
          replayable: () => reads.request('replayable', { filter, stretch }),
          events: () => reads.request('events', step),
          eventsAfter: () => reads.request('eventsAfter', step),
          receivedAfter: () => reads.request('receivedAfter', { ...step, from: at }),
          count: () => reads.request('count', { filter, at: undefined }),
          timeline: () => reads.request('timeline', { id: event, each: 20 }),
          overview: () => reads.request('overview', undefined),
          attempts: () => reads.request('attempts', event),
          event: () => reads.request('event', event),
        } satisfies Partial<Record<keyof Queries, () => unknown>>;
        for (const [name, ask] of Object.entries(each)) {
          read.length = 0;
          await ask();
          // Some steps are done twice, as far as they reach: to find, and to see where they ended.
          const tooMany = read.filter(({ rows }) => rows > 2 * (REACH + UNTAKEN));
          expect({ name, tooMany }).toEqual({ name, tooMany: [] });
        }
      });
      // The lane of each event was looked for among all lanes.
      await fc.assert(property, { numRuns: runs(50), examples: [[{ status: 'pending' }, START]] });
    },
  );
});
