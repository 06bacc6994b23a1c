import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { eventually } from '../../support/eventually.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

// A receiver that is killed while it records leaves a number without an event. Commands read what is there, whoever else runs.

await describeWithPostgres('a number that has no event', (server) => {
  const stores: PostgresStore[] = [];
  const names: string[] = [];
  let name: string;
  beforeEach(async () => {
    name = await createDatabase(server);
    names.push(name);
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
    for (const one of names) await dropDatabase(server, one);
  });

  const opened = async () => {
    const options = { url: server.url(name), clock: systemClock, secretsKey: SECRETS_KEY, tidies: false };
    const store = await PostgresStore.open(options);
    stores.push(store);
    return store;
  };
  const mediaOf = async (store: PostgresStore) => {
    const events = await store.eventsAfter({}, undefined, 10);
    const received = await store.receivedAfter({}, undefined, 10);
    expect(received.map(({ body }) => `media:${JSON.parse(body ?? '{}').media_id}`)).toEqual(
      events.map(({ resource }) => resource),
    );
    return events.map(({ resource }) => resource);
  };

  test('is passed by who lists everything, when no receiver runs', async () => {
    const receiver = await opened();
    await receiver.record(verified({ media_id: 'one' }));
    await connected(server.url(name), (client) =>
      client.query("SELECT nextval('hookkit.ledger_event_seq') FROM generate_series(1, 3)"),
    );
    await receiver.record(verified({ media_id: 'two' }));
    await receiver.close();
    stores.pop();
    expect(await mediaOf(await opened())).toEqual(['media:one', 'media:two']);
  });

  test('is waited for by who lists everything, when its transaction is open', async () => {
    const store = await opened();
    await store.record(verified({ media_id: 'one' }));
    await connected(server.url(name), async (client) => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE hookkit.ledger IN ROW EXCLUSIVE MODE');
      const { rows } = await client.query("SELECT nextval('hookkit.ledger_event_seq') AS event");
      await store.record(verified({ media_id: 'three' }));
      let isListed = false;
      const listed = mediaOf(store).finally(() => {
        isListed = true;
      });
      await eventually('what is behind it is in work', async () => (await store.count({})) === 2);
      expect(isListed).toBe(false);
      await client.query(
        `INSERT INTO hookkit.ledger (event, event_time, digest, kind, webhook_id, site_id, resource, received_at)
         SELECT $1, event_time, '\\x01', kind, webhook_id, site_id, 'media:two', received_at FROM hookkit.ledger LIMIT 1`,
        [rows[0].event],
      );
      await client.query(
        `INSERT INTO hookkit.bodies SELECT event, received_at, '{"media_id":"two"}' FROM hookkit.ledger WHERE event = $1`,
        [rows[0].event],
      );
      await client.query('COMMIT');
      expect(await listed).toEqual(['media:one', 'media:two', 'media:three']);
    });
  });
});
