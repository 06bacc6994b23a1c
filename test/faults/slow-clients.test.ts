import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';
import { postText, type RawConnection, rawConnection } from '../support/raw-http.ts';
import { genuineLoad, line, type Seen, together } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
const SLOW = 500;
const ROUNDS = 4;
const REQUESTS = 500;

/** A genuine request of which one half never comes, or comes a byte at a time. */
function half(number: number): string {
  if (number % 3 === 0) return 'POST /webhooks/media HTTP/1.1\r\nHost: x\r\nX-Slow: ';
  const body = bodyOf(1_000_000 + number);
  const headers = [`Authorization: Bearer ${tokenOf(body, SECRET)}`, `Content-Length: ${body.length}`];
  return postText('/webhooks/media', headers, body.slice(0, 20), 'keep-alive');
}

/** Connects so many slow clients and keeps them slow: a third sends a byte now and then, whichever part it is in. */
async function slowClients(port: number): Promise<{ readonly all: readonly RawConnection[]; stop(): void }> {
  const all: RawConnection[] = [];
  for (let number = 0; number < SLOW; number++) {
    const connection = await rawConnection(port);
    connection.closed.catch(() => {}); // a reset is one way to be dropped
    connection.write(half(number));
    all.push(connection);
  }
  const drip = setInterval(() => {
    for (const [number, connection] of all.entries()) if (number % 3 !== 2) connection.write('x');
  }, 250);
  const stop = () => {
    clearInterval(drip);
    for (const connection of all) connection.destroy();
  };
  return { all, stop };
}

test(`genuine notifications are all taken, when ${SLOW} half-open and slow connections are held beside them, and these are dropped`, async () => {
  const service = await stage().start({ HEADERS_TIMEOUT_MS: '4000', REQUEST_TIMEOUT_MS: '6000' });
  const port = Number(new URL(service.url).port);
  await genuineLoad({ url: service.url, requests: 1000 }); // warms it up
  const alone: Seen[] = [];
  const beside: Seen[] = [];
  let dropped = 0;
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await genuineLoad({ url: service.url, requests: REQUESTS }));
    const slow = await slowClients(port);
    beside.push(await genuineLoad({ url: service.url, requests: REQUESTS }));
    if (round === ROUNDS - 1) {
      dropped = (await Promise.allSettled(slow.all.map(({ closed }) => closed))).length;
    }
    slow.stop();
  }
  process.stdout.write(
    `${line('alone', together(alone))}\n${line(`beside ${SLOW} slow ones`, together(beside))}\n`,
  );
  expect(together(beside).statuses).toEqual({ 200: ROUNDS * REQUESTS });
  expect(dropped).toBe(SLOW);
}, 180_000);
