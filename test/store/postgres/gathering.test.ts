import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { eventually } from '../../support/eventually.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

/** So many batches of acks are under way at once. */
const UNDER_WAY = 2;
const GATHERED = 100;

const WAITING =
  "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
/** A transaction of an ack has one statement. */
const TRANSACTIONS =
  'SELECT count(*)::integer AS events FROM hookkit.ledger GROUP BY xmin::text ORDER BY events';

await describeWithPostgres('acks that come while others are under way', (server) => {
  let name: string;
  let clock: VirtualClock;
  let store: PostgresStore;
  let count: number;
  beforeEach(async () => {
    name = await createDatabase(server);
    clock = new VirtualClock();
    count = 0;
    store = await PostgresStore.open({
      ...{ url: server.url(name), clock, timeOfDatabase: clock, secretsKey: SECRETS_KEY, tidies: false },
    });
  });
  afterEach(async () => {
    await store.close();
    await dropDatabase(server, name);
  });

  const record = () => store.record(verified({ media_id: `media-${count++}` }));

  /** Acks of which each is a batch that waits in the server, until `admin` ends its transaction. */
  const holdUp = async (admin: pg.Client) => {
    await admin.query('BEGIN; LOCK TABLE hookkit.ledger IN EXCLUSIVE MODE');
    const held: ReturnType<typeof record>[] = [];
    for (let batches = 1; batches <= UNDER_WAY; batches++) {
      held.push(record());
      await connected(server.adminUrl(name), (other) =>
        eventually(
          `the server has ${batches}`,
          async () => (await other.query(WAITING)).rowCount === batches,
        ),
      );
    }
    return held;
  };

  test('go in one statement of one transaction, when those before them are done', async () => {
    await connected(server.adminUrl(name), async (admin) => {
      const recorded = await holdUp(admin);
      for (let more = 0; more < GATHERED; more++) recorded.push(record());
      await admin.query('COMMIT');
      for (const one of await Promise.all(recorded)) expect(one.status).toBe('accepted');
      const { rows } = await admin.query<{ events: number }>(TRANSACTIONS);
      expect(rows.map(({ events }) => events)).toEqual([1, 1, GATHERED]);
    });
  });

  test('are refused, each five seconds after it came, when the server does not answer, and those that were not sent are never recorded', async () => {
    await connected(server.adminUrl(name), async (admin) => {
      const outcomes: string[] = [];
      const noted = (what: string, one: ReturnType<typeof record>) =>
        one.then(
          () => void outcomes.push(`${what} recorded`),
          (error) => void outcomes.push(`${what} ${error.code}: ${error.message.slice(0, 70)}`),
        );
      const refused =
        'STORE_UNAVAILABLE: the store cannot do this now: no answer from the server within 5 s: it';
      const sent = (await holdUp(admin)).map((one) => noted('sent', one));
      await clock.advance(1000);
      const early = Array.from({ length: GATHERED }, () => noted('early', record()));
      await clock.advance(1000);
      const late = noted('late', record());
      await clock.advance(2999);
      expect(outcomes).toEqual([]);
      await clock.advance(1);
      await Promise.all(sent);
      expect(outcomes.splice(0)).toEqual(sent.map(() => `sent ${refused}`));
      await clock.advance(1000);
      await Promise.all(early);
      expect(outcomes.splice(0)).toEqual(early.map(() => `early ${refused}`));
      await admin.query('COMMIT');
      await late;
      expect(outcomes).toEqual(['late recorded']);
      expect((await record()).status).toBe('accepted');
      // What the server had by then it records, by and by: its sender sends that again.
      await eventually('the server has recorded both', async () => (await store.count({})) >= UNDER_WAY + 2);
      expect(await store.count({})).toBe(UNDER_WAY + 2);
    });
  });
});
