import { expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { databaseForEachTest, ENGINE } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { serve } from '../support/served.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

/** On PostgreSQL there is one size. */
const ROUNDS = ENGINE === 'postgres' ? 6 : size({ small: 2, full: 20 });
const CLIENTS = 16;
const SEED = 20_261_120;

const database = databaseForEachTest();

let sent = 0;

/** Sends until the service is gone; returns what it acknowledged. */
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
  const env = { ...database().env, WEBHOOK_SECRET: SECRET, LEASE_MS: '300', LOG_LEVEL: 'info' };
  const random = new Random(SEED);
  const acknowledged = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const service = await startProcess(env);
    const clients = Array.from({ length: CLIENTS }, () => sendUntilGone(service.url, acknowledged));
    const before = acknowledged.size;
    await new Promise((resolve) => setTimeout(resolve, 30 + random.int(400)));
    // On a busy machine that is not long enough for the first.
    await eventually('some are acknowledged', () => acknowledged.size > before + 1);
    service.child.kill('SIGKILL');
    await Promise.all([...clients, service.exited]);
  }
  const store = await database().open();
  expect(acknowledged.size).toBeGreaterThan(ROUNDS);
  // One by one: a list in the order of receipt ends before what PostgreSQL has not ended yet for a process that was killed.
  for (const id of acknowledged) expect([id, (await store.event(id))?.id]).toEqual([id, id]);

  const service = await serve({ env });
  const isHandled = async () => (await store.count({ status: 'handled' })) === (await store.count({}));
  await eventually('all is handled', isHandled);
  await service.stop();
  const recorded = await store.count({});
  expect(await store.count({ status: 'handled' })).toBe(recorded);
  expect(recorded).toBeGreaterThanOrEqual(acknowledged.size);
  process.stdout.write(
    `killed ${ROUNDS} times: ${sent} sent, ${acknowledged.size} acknowledged, ${recorded} recorded and handled\n`,
  );
}, 120_000);
