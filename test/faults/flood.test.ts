import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { bodyOf } from '../support/notifications.ts';
import { genuineLoad, requestWith, rssOf, sendInTurn, startLoaded } from './load.ts';

const database = databaseForEachTest();
const CONNECTIONS = 20;
const SECONDS = 10;
const LIMIT = 60;

test(`forged notifications, over ${CONNECTIONS} connections from one address, are throttled with 429 and Retry-After, and genuine ones from the same address never`, async () => {
  const service = await startLoaded({ ...database().env, REJECT_LIMIT: String(LIMIT) });
  await genuineLoad(service.url, 2000);
  const forged = Array.from({ length: 50 }, (_, number) => requestWith(bodyOf(5_000_000 + number), 'forged'));
  let isOver = false;
  function* untilOver() {
    while (!isOver) yield* forged;
  }
  const statuses: Record<string, number> = {};
  let withoutRetryAfter = 0;
  const senders = Array.from({ length: CONNECTIONS }, () =>
    sendInTurn(service.url, untilOver(), ({ status, head }) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === '429' && !/^Retry-After: \d+\r$/m.test(head)) withoutRetryAfter++;
    }),
  );
  const [genuine] = await Promise.all([genuineLoad(service.url, 2000), sleep(SECONDS * 1000)]);
  isOver = true;
  await Promise.all(senders);
  const sent = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  process.stdout.write(`forged: ${sent / SECONDS} answered a second, RSS ${rssOf(service)} MiB\n`);
  expect(genuine).toEqual({ 200: 2000 });
  expect(statuses).toEqual({ 401: LIMIT, 429: sent - LIMIT });
  expect(withoutRetryAfter).toBe(0);
}, 180_000);
