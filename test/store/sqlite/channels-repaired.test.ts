import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { firstVersion } from '../../support/first-version.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('the states of channels follow the latest receipt, when a former version took the order of storing, and all others stay', async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'receiver.db');
  const { db } = firstVersion(path, Buffer.alloc(32, 1), []);
  const insert = db.prepare(
    `INSERT INTO events (event_time, digest, kind, webhook_id, site_id, resource, received_at, last_delivery_at)
     VALUES (?, randomblob(32), ?, 'w', ?, ?, ?, 1)`,
  );
  insert.run(1000, 'channel_idle', 'a', 'channel:tied', 20);
  insert.run(1000, 'channel_active', 'b', 'channel:tied', 10); // admitted later
  insert.run(1000, 'channel_deleted', 'c', 'channel:tied', 30); // says no state
  insert.run(2000, 'channel_idle', 'd', 'channel:plain', 50);
  insert.run(1000, 'channel_active', 'e', 'channel:plain', 60);
  db.close();
  const store = await SqliteStore.open({ path, clock: systemClock, threads: false });
  expect((await store.channels({ limit: 9 })).channels).toMatchObject([
    { resource: 'channel:plain', state: 'idle', siteId: 'd', since: 2000 },
    { resource: 'channel:tied', state: 'idle', siteId: 'a', since: 1000 },
  ]);
  await store.close();
  rmSync(directory, { recursive: true });
});
