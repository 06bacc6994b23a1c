import { expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const ROUNDS = size({ small: 2, full: 20 });
const database = databaseForEachTest();
let sent = 0;

/** Sends until the service is gone; keeps the ids of what it acknowledged. */
async function sendUntilGone(url: string, acknowledged: Set<string>): Promise<void> {
  for (;;) {
    try {
      const response = await deliver(url, bodyOf(sent++));
      const { id } = (await response.json()) as { id: string };
      if (response.status === 200) acknowledged.add(id);
    } catch {
      return; // killed
    }
  }
}

test(`keeps and handles what it acknowledged, when it is killed ${ROUNDS} times under load, without exception`, async () => {
  const env = { ...database().env, WEBHOOK_SECRET: SECRET, LEASE_MS: '300' };
  const random = new Random(20_261_120);
  const acknowledged = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const service = await startProcess(env);
    const clients = Array.from({ length: 16 }, () => sendUntilGone(service.url, acknowledged));
    const before = acknowledged.size;
    await new Promise((resolve) => setTimeout(resolve, 30 + random.int(400)));
    // On a busy machine that is not long enough for the first.
    await eventually('some are acknowledged', () => acknowledged.size > before + 1);
    await service.kill();
    await Promise.all(clients);
  }
  const store = await database().open();
  // One by one: a list in the order of receipt ends before what PostgreSQL has not ended yet for a process that was killed.
  for (const id of acknowledged) expect([id, (await store.event(id))?.id]).toEqual([id, id]);

  const service = await startProcess(env);
  const isHandled = async () => (await store.count({ status: 'handled' })) === (await store.count({}));
  await eventually('all is handled', isHandled);
  await service.stop();
  expect(await store.count({ status: 'handled' })).toBeGreaterThanOrEqual(acknowledged.size);
}, 120_000);
