import { Database } from '../../src/store/postgres/database.ts';
import { FormerPartitions } from '../../src/store/postgres/partitions.ts';
import { insertPostgresEvents } from '../../test/support/insert-postgres-events.ts';
import { connected } from '../../test/support/postgres-databases.ts';
import { type AckFigures, measureAcks } from '../acks.ts';
import { runChild } from '../children.ts';
import { onServer, withDatabase } from '../database.ts';
import { MEDIA, mediaNumber, SITES } from '../fill.ts';
import { atLeast, goalTable, number, ratio, table } from '../markdown.ts';
import { interleaved, say } from '../measure.ts';
import { openOurs } from '../queues/our-store.ts';
import type { QueueFigures } from '../queues/queue.ts';
import type { Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

const CASES = ['empty', 'filled'] as const;
type Case = (typeof CASES)[number];

const CONNECTIONS = 32;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** Acks and dispatch on PostgreSQL with very many events stored, beside a database that has none. */
export const postgresStored: Section = {
  title: 'PostgreSQL with many events stored',
  run: (sizes) => onServer((server) => run(server, sizes)),
};

function run(server: string, sizes: Sizes): Promise<string> {
  return withDatabase(server, async (filled) => {
    await fill(filled, sizes.stored);
    const compare = <F extends { readonly [K in keyof F]: number }>(measure: (url: string) => Promise<F>) =>
      interleaved(CASES, sizes.rounds, (name) =>
        name === 'filled' ? measure(filled) : withDatabase(server, measure),
      );
    const acks = await compare((url) => measureHandled(url, sizes));
    const dispatched = await compare((url) =>
      runChild<QueueFigures>('./queues/ours.ts', { url, jobs: sizes.jobs, resources: sizes.jobs }),
    );
    return report(sizes, acks, dispatched);
  });
}

/** Sends the service on a database requests, until it has handled all that it recorded. */
async function measureHandled(url: string, sizes: Sizes): Promise<AckFigures> {
  const target = await Target.start('ours', { url });
  try {
    const acks = await measureAcks(target, CONNECTIONS, sizes);
    await target.stop();
    return acks;
  } finally {
    await target.kill();
  }
}

/** Fills a database as a year of use leaves it: all events handled, by one attempt each. */
async function fill(url: string, events: number): Promise<void> {
  say(`filling a database with ${number(events)} events`);
  const store = await openOurs(url);
  await store.close();
  const now = Date.now();
  const from = now - YEAR_MS;
  const database = new Database({ url, connections: 1, name: 'benchmark' });
  const days = Array.from({ length: 366 }, (_, day) => from + day * DAY_MS);
  await new FormerPartitions(database, now).makeFor(days);
  await database.close();
  await connected(url, async (client) => {
    // Of a plain connection, as a statement of so many rows takes longer than the store waits for any.
    const session = {
      rows: async <R>(sql: string, params: readonly unknown[] = []) =>
        (await client.query(sql, [...params])).rows as R[],
      script: async (sql: string) => void (await client.query(sql)),
    };
    await session.script('SET synchronous_commit = off');
    await insertPostgresEvents(
      session,
      `SELECT n AS event, at AS event_time, kind, resource, 'site' || (n % ${SITES}) AS site_id, at + 700 AS received_at,
         'handled' AS status, NULL::bigint AS next_attempt_at,
         '{"event": "' || kind || '", "media_id": "' || substr(resource, 7) || '", "webhook_id": "hook0001", "site_id": "site' ||
           (n % ${SITES}) || '", "event_time": "' || to_timestamp(at / 1000) || '"}' AS body
       FROM (
         SELECT n, ${from} + n * (${YEAR_MS}::bigint / ${events}) AS at,
           'media:' || lpad(to_hex((n * ${mediaNumber(1)}) % ${MEDIA}), 8, '0') AS resource,
           (ARRAY['media_created', 'media_available', 'conversions_complete', 'media_updated'])[n % 4 + 1] AS kind
         FROM generate_series(1::bigint, ${events}) AS numbers (n)
       ) AS numbered`,
      events,
    );
    await session.script(
      "INSERT INTO hookkit.attempts SELECT event, 0, 1, received_at, 5, 'handled', NULL FROM hookkit.ledger",
    );
    // As a database is in which this has stood for a while.
    await session.script('VACUUM (ANALYZE)');
    await session.script('CHECKPOINT');
  });
}

function report(
  { stored, jobs }: Sizes,
  acks: Readonly<Record<Case, AckFigures>>,
  dispatched: Readonly<Record<Case, QueueFigures>>,
): string {
  const rows = CASES.map((name) => [
    name,
    number(acks[name].perSecond),
    ratio(acks[name].perSecond, acks.empty.perSecond),
    number(acks[name].p50, 2),
    number(acks[name].p99, 2),
    number(dispatched[name].perSecond),
    ratio(dispatched[name].perSecond, dispatched.empty.perSecond),
  ]);
  const head = ['database', 'acks/s', 'of empty', 'p50 ms', 'p99 ms'];
  return [
    table([...head, `events/s dispatched, of ${number(jobs)}`, 'of empty'], rows),
    `- \`filled\` has ${number(stored)} events of a year, all handled, and more with every round; it was filled in bulk and vacuumed. The same
  server as in the section PostgreSQL; ${CONNECTIONS} connections. The service handles all events meanwhile, by handlers that do nothing.
- Dispatched: as in the section on queues, one process, each event of another media.`,
    goalTable([
      atLeast(
        `acks at ${CONNECTIONS} connections filled, of empty`,
        acks.filled.perSecond / acks.empty.perSecond,
        0.9,
      ),
    ]),
  ].join('\n\n');
}
