import { afterEach, expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';

/** How long the store cannot write. */
const STALLED_MS = size({ small: 300, full: 2000 });

const database = databaseForEachTest();

let service: RunningService;
afterEach(() => service.dispose());

test('acknowledges notifications, when no handler ever ends, with 200 for each', async () => {
  let started = 0;
  service = await runService(
    {
      media_available: (_event, ctx) => {
        started++;
        return new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', reject));
      },
    },
    database().env,
  );
  const responses = await Promise.all(Array.from({ length: 100 }, (_, n) => deliver(service.url, bodyOf(n))));
  expect(responses.map(({ status }) => status)).toEqual(Array(100).fill(200));
  expect(started).toBeLessThanOrEqual(64);
  expect(await service.store.count({ status: 'handled' })).toBe(0);
});

test('keeps answering and lets requests wait, when the store cannot write, with 200 once it can', async () => {
  service = await runService({ media_available: () => {} }, database().env);
  const goOn = await database().stall();
  let answered = 0;
  const waiting = Array.from({ length: 20 }, async (_, n) => {
    const response = await deliver(service.url, bodyOf(n));
    answered++;
    return response.status;
  });
  const slowest: number[] = [];
  for (const end = Date.now() + STALLED_MS; Date.now() < end; ) {
    const began = performance.now();
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    slowest.push(performance.now() - began);
  }
  expect(answered).toBe(0);
  await goOn();
  expect(await Promise.all(waiting)).toEqual(Array(20).fill(200));
  const worst = Math.max(...slowest).toFixed(1);
  process.stdout.write(
    `healthz with the store stalled for ${STALLED_MS} ms: ${slowest.length} answers, slowest ${worst} ms\n`,
  );
});

test('is not ready, when the store cannot write, with 503', async () => {
  service = await runService({}, database().env);
  const goOn = await database().stall();
  expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
  await goOn();
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
});
