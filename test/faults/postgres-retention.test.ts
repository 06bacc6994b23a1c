import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { insertPostgresEvents } from '../support/insert-postgres-events.ts';
import { only } from '../support/only.ts';
import { OWNER } from '../support/postgres-binaries.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';

const EVENTS = 200_000;
/** A step of the pruning. */
const STEP = 200;
const FROM = Date.UTC(2020, 0, 1);
const TO = Date.UTC(2020, 1, 1);
/** As long as most bodies are. */
const BODY = `'{"event": "media_available", "media_id": "' || repeat('x', 260) || '"}'`;

await describeWithPostgres('a month of events that retention removes', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ durable: true });
  });
  afterAll(() => server?.remove());

  /** A database with a month of events that were all handled, but for so many that are dead. */
  async function prune(name: string, dead: number) {
    await connected(server.adminUrl(), (admin) => admin.query(`CREATE DATABASE ${name} OWNER ${OWNER}`));
    const url = server.url(name);
    const store = await PostgresStore.open({
      url,
      clock: systemClock,
      secretsKey: SECRETS_KEY,
      connections: 2,
      tidies: false,
    });
    const database = new Database({ url, connections: 1, name: 'fills' });
    for (const table of ['bodies', 'attempts'])
      await database.statements.script(
        `CREATE TABLE hookkit.${table}_2020_01 PARTITION OF hookkit.${table} FOR VALUES FROM (${FROM}) TO (${TO})`,
      );
    await insertPostgresEvents(
      database.statements,
      `SELECT n AS event, ${FROM} + n AS event_time, 'media_available' AS kind, 'media:' || n AS resource,
         'site0001' AS site_id, ${FROM} + n AS received_at, CASE WHEN n <= ${dead} THEN 'dead' ELSE 'handled' END AS status,
         NULL::bigint AS next_attempt_at, ${BODY} AS body FROM generate_series(1, ${EVENTS}) AS n`,
      EVENTS,
    );
    await database.statements.script(
      `SET LOCAL statement_timeout = 0;
       INSERT INTO hookkit.attempts SELECT event, 0, 1, received_at, 5, 'handled', NULL FROM hookkit.ledger`,
    );
    if (dead > 0)
      await database.statements.script("UPDATE hookkit.results SET handled_at = NULL WHERE status = 'dead'");
    await database.close();
    // As a database is in which this has stood for a while.
    await connected(server.adminUrl(name), (admin) => admin.query('VACUUM (ANALYZE)'));
    const facts = () =>
      connected(server.adminUrl(name), async (admin: pg.Client) => {
        await admin.query('CHECKPOINT');
        const { rows } = await admin.query<{ wal: number; size: number }>(
          `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal,
             (SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class WHERE relname ~ '^(bodies|attempts)_2020_01$') AS size`,
        );
        return only(rows);
      });
    const before = await facts();
    const began = performance.now();
    const first = await store.prune(TO, STEP);
    const afterFirst = performance.now();
    let pruned = first;
    for (let last = first; last >= STEP; pruned += last) last = await store.prune(TO, STEP);
    const seconds = (performance.now() - began) / 1000;
    const after = await facts();
    await store.close();
    const MIB = 1024 * 1024;
    process.stdout.write(
      `${dead > 0 ? 'row by row' : 'by dropping'}: ${pruned} events in ${seconds.toFixed(1)} s (first step ${(afterFirst - began).toFixed(0)} ms), ` +
        `${((after.wal - before.wal) / MIB).toFixed(0)} MiB of WAL, tables ${(before.size / MIB).toFixed(0)} MiB before and ${((after.size ?? 0) / MIB).toFixed(0)} after\n`,
    );
    return { pruned, size: after.size ?? 0 };
  }

  test(`gives the disk back at once, when its ${EVENTS} events go with their partitions`, async () => {
    const byRows = await prune('by_rows', 1);
    const dropped = await prune('dropped', 0);
    expect(byRows.pruned).toBe(EVENTS - 1);
    expect(dropped.pruned).toBe(EVENTS);
    expect(dropped.size).toBe(0);
    expect(byRows.size).toBeGreaterThan(0);
  });
});
