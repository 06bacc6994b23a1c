import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';

const database = databaseForEachTest();
const HANDLERS = join(import.meta.dirname, 'handlers/counting.ts');

test('nothing of ctx.state is stored, when the process crashes behind the change, and the next attempt begins as before', async () => {
  const env = { ...database().env, HANDLERS, WEBHOOK_SECRET: SECRET, LEASE_MS: '200' };
  const first = await startProcess(env);
  await deliver(first.url, bodyOf(1)).catch(() => undefined); // the crash may come before the answer
  await first.exited;

  const store = await database().open();
  expect(await eventsIn(store)).toMatchObject([{ resource: 'media:media1' }]);
  expect(await store.state('media:media1')).toEqual([]);

  const second = await startProcess(env);
  await eventually('it is handled', async () => (await store.count({ status: 'handled' })) === 1);
  expect(await store.state('media:media1')).toEqual([{ name: 'runs', value: '1' }]);
  await second.stop();
});
