import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { onEachEngine } from './stages.ts';

const SECRET = 'a-secret-that-nobody-else-may-read';

const live = async (store: EventStore) =>
  (await store.secrets()).map(({ webhookId, secret }) => [webhookId, secret]);

onEachEngine('the store', (stage) => {
  test('tells that it can commit, and refuses everything once it is closed', async () => {
    const one = await stage.another();
    await one.ping();
    await one.ping();
    const [pings] = await stage.sql<{ value: string }>("SELECT value FROM meta WHERE name = 'pings'");
    expect(pings?.value).toBe('2');
    const outcome = one.countLost(1).then(
      () => 'done',
      ({ code }) => code,
    );
    await Promise.all([one.close(), one.close()]);
    expect(await outcome).toMatch(/^(done|STORE_UNAVAILABLE)$/); // nobody waits for ever
    await expect(one.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(one.overview()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

onEachEngine('secrets', (stage) => {
  /** Of PostgreSQL, the key that is in use: tests change it. */
  let key = SECRETS_KEY;
  const rekeyed = async (store: EventStore) => {
    if (!stage.isPostgres) return store.rekey();
    key = randomBytes(32);
    return store.rekey(key);
  };
  const another = () => stage.another(stage.isPostgres ? { SECRETS_KEY: key } : {});

  test('are live side by side, oldest first, until they retire, and one that is stored again retires no more', async () => {
    const { store, clock } = stage;
    await store.addSecret('webhook1', SECRET);
    await stage.pass(10);
    await store.addSecret('webhook1', 'second');
    await store.addSecret('webhook2', SECRET);
    await store.addSecret('webhook1', SECRET);
    expect(await live(store)).toEqual([
      ['webhook1', SECRET],
      ['webhook1', 'second'],
      ['webhook2', SECRET],
    ]);
    await store.retireSecret('webhook1', SECRET, clock.now() + 1000);
    expect(await live(store)).toHaveLength(3);
    await stage.pass(1001);
    expect(await live(store)).toEqual([
      ['webhook1', 'second'],
      ['webhook2', SECRET],
    ]);
    expect(await store.everySecret()).toHaveLength(3);
    await store.addSecret('webhook1', SECRET);
    expect(await live(store)).toHaveLength(3);
  });

  test('open only in their own row: one that was put in place of another opens nothing', async () => {
    const { store } = stage;
    await store.addSecret('webhook1', SECRET);
    await store.addSecret('webhook2', 'of-somebody-else');
    await stage.sql(
      "UPDATE secrets SET sealed = (SELECT s.sealed FROM secrets s WHERE s.webhook_id = 'webhook2') WHERE webhook_id = 'webhook1'",
    );
    expect(await live(store)).toEqual([['webhook2', 'of-somebody-else']]);
    await stage.sql("UPDATE secrets SET webhook_id = 'webhook3' WHERE webhook_id = 'webhook2'");
    expect(await live(store)).toEqual([]);
    await stage.sql("UPDATE secrets SET webhook_id = 'webhook2' WHERE webhook_id = 'webhook3'");
    expect(await live(store)).toHaveLength(1);
    await store.retireSecret('webhook2', 'of-somebody-else', 1);
    await stage.sql('UPDATE secrets SET retire_at = NULL');
    expect(await live(store)).toEqual([]);
  });

  test('are sealed again by one process, and another that uses the key file goes on with the new key', async () => {
    const { store } = stage;
    const other = await another();
    await store.addSecret('webhook1', SECRET);
    await store.addSecret('webhook2', 'second');
    expect(await live(other)).toHaveLength(2);
    expect(await rekeyed(store)).toBe(2);
    expect(await live(store)).toHaveLength(2);
    expect(await live(await another())).toHaveLength(2);
    if (stage.isPostgres) await expect(other.secrets()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    else expect(await live(other)).toHaveLength(2);
    const late = other.addSecret('webhook3', 'third');
    if (stage.isPostgres) await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    else await late;
    expect(await live(store)).toHaveLength(stage.isPostgres ? 2 : 3);
  });
});
