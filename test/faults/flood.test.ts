import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { rssOf } from '../support/memory.ts';
import { bodyOf } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
import { genuineLoad, line, sendInTurn } from './load.ts';
import { FaultStage } from './service.ts';

const stage = new FaultStage();
const CONNECTIONS = 20;
const SECONDS = 10;
const LIMIT = 60;

interface Flood {
  readonly statuses: Record<string, number>;
  withoutRetryAfter: number;
}

/** Sends forged notifications from one address, as fast as they are answered. */
async function flood(port: number, isOver: () => boolean): Promise<Flood> {
  const requests = Array.from({ length: 50 }, (_, number) => {
    const body = bodyOf(5_000_000 + number);
    const headers = [`Authorization: Bearer ${tokenOf(body, 'forged')}`, `Content-Length: ${body.length}`];
    return postText('/webhooks/media', headers, body, 'keep-alive');
  });
  function* untilOver() {
    while (!isOver()) yield* requests;
  }
  const seen: Flood = { statuses: {}, withoutRetryAfter: 0 };
  const senders = Array.from({ length: CONNECTIONS }, () =>
    sendInTurn(port, untilOver(), ({ status, head }) => {
      seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
      if (status === '429' && !/^Retry-After: \d+\r$/m.test(head)) seen.withoutRetryAfter++;
    }),
  );
  await Promise.all(senders);
  return seen;
}

test(`forged notifications, over ${CONNECTIONS} connections from one address, are throttled with 429 and Retry-After, and genuine ones from the same address never`, async () => {
  const service = await stage.start({ REJECT_LIMIT: String(LIMIT) });
  const port = Number(new URL(service.url).port);
  await genuineLoad({ url: service.url, requests: 1000 });
  const alone = await genuineLoad({ url: service.url, requests: 2000 });
  let isOver = false;
  const began = performance.now();
  const flooded = flood(port, () => isOver);
  const timer = setTimeout(() => {
    isOver = true;
  }, SECONDS * 1000);
  const genuine = await genuineLoad({ url: service.url, requests: 2000 });
  const seen = await flooded;
  clearTimeout(timer);
  const sent = Object.values(seen.statuses).reduce((sum, count) => sum + count, 0);
  const rate = Math.round((1000 * sent) / (performance.now() - began));
  process.stdout.write(
    `forged: ${sent} sent, ${rate} answered a second, ${JSON.stringify(seen.statuses)}; RSS ${rssOf(service.child.pid)} MiB\n` +
      `${line('genuine alone', alone)}\n${line('genuine beside them', genuine)}\n`,
  );
  expect(genuine.statuses).toEqual({ 200: 2000 });
  expect(seen.statuses).toEqual({ 401: LIMIT, 429: sent - LIMIT });
  expect(seen.withoutRetryAfter).toBe(0);
}, 180_000);
