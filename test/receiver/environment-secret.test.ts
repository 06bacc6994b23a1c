import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { admitWaiting } from '../../src/receiver/admissions.ts';
import { Keyring } from '../../src/receiver/keyring.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { toVerified } from '../../src/store/verified.ts';
import { firstVersion } from '../support/first-version.ts';
import { deliver, notification } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { receiversForEachTest } from '../support/receiver-fixture.ts';
import { runs } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const start = receiversForEachTest();
const FALLBACK = 'the secret of the environment';
const of = (webhook_id: string, media_id = 'UUhbHm6C') => notification({ webhook_id, media_id });

describe('WEBHOOK_SECRET', () => {
  test('verifies nothing for a webhook, when its only stored secret was retired, with 401', async () => {
    const { app, store, keyring, clock } = await start({ secrets: { one: ['stored'] }, fallback: FALLBACK });
    await store.retireSecret('one', 'stored', clock.now());
    await keyring.refresh();
    expect((await deliver(app, of('one'), FALLBACK)).status).toBe(401);
    expect((await deliver(app, of('one'), 'stored')).status).toBe(401);
    expect((await deliver(app, of('two', 'other'), FALLBACK)).status).toBe(200);
  });

  test('verifies nothing for a webhook, when its secret retires while the receiver runs, from that moment on', async () => {
    const { app, store, keyring, clock } = await start({ secrets: { one: ['stored'] }, fallback: FALLBACK });
    await store.retireSecret('one', 'stored', clock.now() + 60_000);
    await keyring.refresh();
    expect((await deliver(app, of('one', 'before'), 'stored')).status).toBe(200);
    await clock.advance(60_000);
    expect((await deliver(app, of('one', 'after'), FALLBACK)).status).toBe(401);
  });

  test('verifies nothing at all, when the stored secrets were not read yet', () => {
    const store = { secrets: async () => [], webhooksWithOwnSecret: async () => [] };
    const keyring = new Keyring({ store, clock: new VirtualClock(), fallback: FALLBACK });
    expect(keyring.keysFor('one')).toEqual([]);
  });

  test('admits nothing from quarantine for a webhook, when its secret was retired, and all for others', async () => {
    const { store, clock } = await start({ secrets: { one: ['stored'] } });
    await store.retireSecret('one', 'stored', clock.now());
    for (const webhook of ['one', 'two']) {
      const text = JSON.stringify(of(webhook, webhook));
      const entry = { ...toVerified(JSON.parse(text), text), token: tokenOf(text, FALLBACK), source: '::1' };
      await store.quarantine(entry, 1_000_000);
    }
    expect(await admitWaiting(store, { WEBHOOK_SECRET: FALLBACK, HOST: '127.0.0.1', TRUST_PROXY: 0 })).toBe(
      1,
    );
    expect(await store.waitingWebhooks()).toEqual([{ webhookId: 'one', notifications: 1 }]);
  });
});

describe('on a database of one’s own', () => {
  let directory: string;
  let path: string;
  beforeEach(async () => {
    directory = await temporaryDirectory();
    path = join(directory, 'receiver.db');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const clock = new VirtualClock();
  const withStore = async <T>(use: (store: SqliteStore) => Promise<T>): Promise<T> => {
    const store = await SqliteStore.open({ path, clock, threads: false });
    return use(store).finally(() => store.close());
  };
  const change = (sql: string) => {
    const db = new Database(path);
    db.exec(sql);
    db.close();
  };
  /** How many keys a new process has for a webhook. */
  const keysFor = (webhookId: string) =>
    withStore(async (store) => {
      const keyring = new Keyring({ store, clock: new VirtualClock(), fallback: FALLBACK });
      await keyring.refresh();
      return keyring.keysFor(webhookId).length;
    });

  test.each([
    ['does not open, as its row was changed', "UPDATE secrets SET sealed = x'00'"],
    ['was given to another webhook', "UPDATE secrets SET webhook_id = 'another'"],
    ['was deleted', 'DELETE FROM secrets'],
  ])('WEBHOOK_SECRET verifies nothing for a webhook, when its only stored secret %s', async (_what, sql) => {
    await withStore((store) => store.addSecret('one', 'stored'));
    change(sql);
    expect(await keysFor('one')).toBe(0);
    expect(await keysFor('two')).toBe(1);
    await withStore((store) => store.dropUnreadableSecrets());
    expect(await keysFor('one')).toBe(0);
  });

  test('WEBHOOK_SECRET verifies for exactly the webhooks that never had a secret, when secrets come and go in any order', async () => {
    const webhook = fc.constantFrom('one', 'two', 'three');
    const secret = fc.constantFrom('a', 'b');
    const step = fc.oneof(
      fc.record({ does: fc.constant('add' as const), webhook, secret }),
      fc.record({ does: fc.constant('retire' as const), webhook, secret, in: fc.nat(3) }),
      fc.record({ does: fc.constantFrom('drop', 'spoil', 'delete', 'rekey', 'wait') }),
    );
    const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      rmSync(directory, { recursive: true });
      directory = await temporaryDirectory();
      path = join(directory, 'receiver.db');
      const everAdded = new Set<string>();
      const live = new Map<string, number>(); // until when, by webhook and secret
      await withStore(async (store) => {
        for (const one of steps) {
          if (one.does === 'spoil') change("UPDATE secrets SET sealed = x'00'");
          if (one.does === 'delete') change('DELETE FROM secrets');
          if (one.does === 'spoil' || one.does === 'delete') live.clear();
          if (one.does === 'wait') await clock.advance(1);
          if (one.does === 'drop') await store.dropUnreadableSecrets();
          if (one.does === 'rekey') await store.rekey().catch(() => {}); // it refuses where a secret is spoiled
          if (!('webhook' in one)) continue;
          const name = `${one.webhook} ${one.secret}`;
          if (one.does === 'add') {
            await store.addSecret(one.webhook, one.secret);
            everAdded.add(one.webhook);
            live.set(name, Number.POSITIVE_INFINITY);
          } else {
            const retireAt = clock.now() + one.in;
            if (await store.retireSecret(one.webhook, one.secret, retireAt)) live.set(name, retireAt);
          }
        }
        const keyring = new Keyring({ store, clock, fallback: FALLBACK });
        await keyring.refresh();
        for (const id of ['one', 'two', 'three', 'never']) {
          const own = [...live].filter(([name, until]) => name.startsWith(id) && until > clock.now()).length;
          expect(keyring.keysFor(id)).toHaveLength(everAdded.has(id) ? own : 1);
        }
      });
    });
    await fc.assert(property, { numRuns: runs(60) });
  });
});

test('WEBHOOK_SECRET verifies nothing for webhooks of a database of the first version, when they have a secret there, retired or not', async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'receiver.db');
  const stored = [
    { webhookId: 'retired', secret: 'a', retireAt: 1 },
    { webhookId: 'live', secret: 'b' },
  ];
  firstVersion(path, Buffer.alloc(32, 1), stored).db.close();
  const clock = new VirtualClock();
  const store = await SqliteStore.open({ path, clock, threads: false });
  const keyring = new Keyring({ store, clock, fallback: FALLBACK });
  await keyring.refresh();
  expect(['retired', 'live', 'another'].map((id) => keyring.keysFor(id).length)).toEqual([0, 1, 1]);
  expect(await store.webhooksWithOwnSecret()).toEqual(['live', 'retired']);
  await store.close();
  rmSync(directory, { recursive: true });
});
