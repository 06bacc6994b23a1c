import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const database = databaseForEachTest();
const start = () => {
  const HANDLERS = join(import.meta.dirname, 'handlers/slow.ts');
  return startProcess({ ...database().env, HANDLERS, WEBHOOK_SECRET: SECRET, SHUTDOWN_GRACE_MS: '3000' });
};
let sent = 0;

/** Sends one after the other, until it is told that the service is going away. */
async function sendUntilRefused(url: string, acknowledged: string[]): Promise<number> {
  for (;;) {
    const response = await deliver(url, bodyOf(sent++)); // a request that is cut off rejects
    const { id } = (await response.json()) as { id: string };
    if (response.status !== 200) return response.status;
    acknowledged.push(id);
  }
}

test('ends with 0, when SIGTERM comes under load, with every request answered and nothing acknowledged lost', async () => {
  const service = await start();
  const acknowledged: string[] = [];
  const clients = Array.from({ length: 16 }, () => sendUntilRefused(service.url, acknowledged));
  const enough = size({ small: 100, full: 500 });
  await eventually('enough is acknowledged', () => acknowledged.length >= enough);
  const stopped = service.stop();
  expect(await Promise.all(clients)).toEqual(Array(16).fill(503));
  await stopped;

  const store = await database().open();
  const found = await Promise.all(acknowledged.map((id) => store.queue.event({ id })));
  expect(found.filter((event) => event === undefined)).toEqual([]);
  expect(await store.queue.count({ status: 'running' })).toBe(0);
  const [interrupted] = await eventsIn(store, { resource: 'media:media0' }, 1);
  expect(interrupted).toMatchObject({ status: 'pending', attempts: 0 });
});
