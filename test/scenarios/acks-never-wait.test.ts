import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { runService } from '../support/running-service.ts';

const database = databaseForEachTest();

test('acknowledges notifications, when no handler ever ends, with 200 for each', async () => {
  let started = 0;
  const handlers = {
    media_available: (_event: unknown, { signal }: { readonly signal: AbortSignal }) => {
      started++;
      return new Promise<never>((_resolve, reject) => signal.addEventListener('abort', reject));
    },
  };
  const service = await runService(handlers, database().env, { threads: true });
  const responses = await Promise.all(Array.from({ length: 100 }, (_, n) => deliver(service.url, bodyOf(n))));
  expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(200));
  expect(started).toBeLessThanOrEqual(64);
  expect(await service.store.count({ status: 'handled' })).toBe(0);
});

test('keeps answering, is not ready and lets notifications wait, when the store cannot write, with 200 once it can', async () => {
  const { url } = await runService({ media_available: () => {} }, database().env, { threads: true });
  const goOn = await database().stall();
  let answered = 0;
  const waiting = Array.from({ length: 20 }, async (_, n) => {
    const { status } = await deliver(url, bodyOf(n));
    answered++;
    return status;
  });
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(answered).toBe(0);
  await goOn();
  expect(await Promise.all(waiting)).toEqual(Array(20).fill(200));
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});
