import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { keyOf, signNotification } from '../../src/notification/token.ts';
import { attached, detached, networkOf } from '../../src/store/quarantine-keys.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { firstVersion } from '../support/first-version.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { runs } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describe('the network of an address', () => {
  test.each([
    ['192.0.2.77', '192.0.2.0/24'],
    ['::ffff:192.0.2.77', '192.0.2.0/24'],
    ['2001:db8:1:2ff::1', '2001:db8:1:200::/56'],
    ['2001:db8:1:2ee:3:4:5:6', '2001:db8:1:200::/56'],
    ['2001:db8::1', '2001:db8:0:0::/56'],
    ['fe80::1%eth0', 'fe80:0:0:0::/56'],
    ['::1', '0:0:0:0::/56'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/56'],
    ['', ''],
    ['unknown', ''],
    ['999.1.1.1', ''],
    ['x'.repeat(10_000), ''],
  ])('is its /24 or /56, and one for all that is no address, when it is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  test('is the same for all of a /56, however an address is written, and is short whatever it is given', () => {
    const property = fc.property(fc.ipV6(), fc.string(), (address, text) => {
      expect(networkOf(address)).toMatch(/^[0-9a-f:]+::\/56$|^\d+\.\d+\.\d+\.0\/24$/);
      expect(networkOf(address.toUpperCase())).toBe(networkOf(address));
      expect(networkOf(text).length).toBeLessThan(30);
    });
    fc.assert(property, { numRuns: runs(300) });
  });
});

describe('a token that is kept beside its body', () => {
  const key = keyOf('secret');

  test('has no payload of its own and comes back whole, when its payload is the bytes of the body', () => {
    const property = fc.property(fc.string({ unit: 'binary' }), (given) => {
      const body = JSON.stringify({ given });
      const token = signNotification(body, key);
      const kept = detached(token, body);
      expect(kept).toMatch(/^[\w-]+\.\.[\w-]+$/);
      expect(kept.length).toBeLessThan(100);
      expect(attached(kept, body)).toBe(token);
    });
    fc.assert(property, { numRuns: runs(300) });
  });

  test('stays as it is, when its payload says the same in other words, or it is none', () => {
    const body = '{"a":1}';
    const others = [signNotification('{"a": 1}', key), 'a.b', 'a.b.c.d', '', body, '...', 'a$&b'];
    for (const token of others) {
      expect(detached(token, body)).toBe(token);
      expect(attached(token, body)).toBe(token);
    }
  });
});

test('entries of a database of the first version are there, when it is opened, and are counted and admitted', async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'receiver.db');
  const { db } = firstVersion(path, Buffer.alloc(32, 1), []);
  const insert = db.prepare(
    `INSERT INTO quarantine (token, source, received_at, event_time, digest, kind, webhook_id, site_id, resource, body)
     VALUES (?, ?, 1, 2, randomblob(32), 'media_available', ?, 'site', 'media:m', '{}')`,
  );
  for (let number = 0; number < 10; number++)
    insert.run(`token-${number}`, `192.0.2.${number}`, `w${number % 2}`);
  db.close();
  const store = await SqliteStore.open({ path, clock: systemClock, threads: OWN_THREADS });
  expect((await store.quarantined()).map(({ token }) => token)).toEqual(
    Array.from({ length: 10 }, (_, number) => `token-${number}`),
  );
  expect(await store.waitingWebhooks()).toEqual([
    { webhookId: 'w0', notifications: 5 },
    { webhookId: 'w1', notifications: 5 },
  ]);
  const entry = (await store.quarantined())[0];
  if (!entry) throw new Error('there is none');
  const { place, bytes, receivedAt, ...same } = entry;
  expect(await store.quarantine(same, 1_000_000)).toEqual({ isKept: false, lost: 0 });
  await store.admit(same.token);
  await store.quarantine(same, 1_000_000);
  expect((await store.quarantined()).at(-1)?.bytes).toBe(bytes); // counted alike
  expect(await store.quarantineSize()).toBe(10);
  await store.close();
  rmSync(directory, { recursive: true });
});
