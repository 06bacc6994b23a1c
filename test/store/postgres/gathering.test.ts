import { expect, test } from '@jest/globals';
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
  test('go in one statement of one transaction, when those before them are done', async () => {
    const name = await createDatabase(server);
    const clock = new VirtualClock();
    const store = await PostgresStore.open({
      ...{ url: server.url(name), clock, timeOfDatabase: clock, secretsKey: SECRETS_KEY, tidies: false },
    });
    let count = 0;
    const record = () => store.record(verified({ media_id: `media-${count++}` }));
    try {
      await connected(server.adminUrl(name), async (admin) => {
        await admin.query('BEGIN; LOCK TABLE hookkit.ledger IN EXCLUSIVE MODE');
        const recorded: ReturnType<typeof record>[] = [];
        for (let batches = 1; batches <= UNDER_WAY; batches++) {
          recorded.push(record());
          await connected(server.adminUrl(name), (other) =>
            eventually(
              `the server has ${batches}`,
              async () => (await other.query(WAITING)).rowCount === batches,
            ),
          );
        }
        for (let more = 0; more < GATHERED; more++) recorded.push(record());
        await admin.query('COMMIT');
        for (const one of await Promise.all(recorded)) expect(one.status).toBe('accepted');
        const { rows } = await admin.query<{ events: number }>(TRANSACTIONS);
        expect(rows.map(({ events }) => events)).toEqual([1, 1, GATHERED]);
      });
    } finally {
      await store.close();
      await dropDatabase(server, name);
    }
  });
});
