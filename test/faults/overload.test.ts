import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const database = databaseForEachTest();
const BURST = 20_000;
const CONNECTIONS = size({ small: 400, full: 1000 });

test(`a burst of ${BURST} notifications over ${CONNECTIONS} connections at once is answered to the last, each acknowledged or refused with 503, none lost, a third handled by then, and all after it`, async () => {
  const HANDLERS = join(import.meta.dirname, 'handlers/quick.ts');
  const env = { ...database().env, WEBHOOK_SECRET: SECRET, HANDLERS, MAX_WAITING_ACKS: '200' };
  const service = await startProcess(env);
  const store = await database().open();
  const statuses: Record<string, number> = {};
  const answered: string[] = [];
  let sent = 0;
  const client = async () => {
    while (sent < BURST) {
      const answer = await deliver(service.url, bodyOf(sent++));
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      const { id } = (await answer.json()) as { readonly id?: string };
      if (id !== undefined) answered.push(id);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  const meanwhile = await store.queue.count({ status: 'handled' });
  const recorded = await store.queue.count({});
  while ((await store.queue.count({ status: 'handled' })) < recorded) await sleep(50);
  process.stdout.write(`burst of ${BURST}: ${JSON.stringify(statuses)}, ${meanwhile} handled by then\n`);
  const { 200: acknowledged = 0, 503: refused = 0 } = statuses;
  expect(meanwhile).toBeGreaterThanOrEqual(acknowledged / 3); // however hard acks press
  expect(acknowledged + refused).toBe(BURST);
  expect(acknowledged).toBeGreaterThan(0);
  // What was refused was not recorded.
  expect([answered.length, recorded]).toEqual([acknowledged, acknowledged]);
  const found = await Promise.all(answered.map((id) => store.queue.event({ id })));
  expect(found.filter((event) => event === undefined)).toEqual([]);
  await service.stop();
}, 300_000);
