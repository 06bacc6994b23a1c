import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { rssOf } from '../support/memory.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';
import { postText, rawConnection, statusOf } from '../support/raw-http.ts';
import { genuineLoad, line } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
const MIB = 1024 * 1024;
/** More than this much memory for all that is sent here would be a bomb going off. */
const MOST_MIB = 300;
const WHITE = Buffer.alloc(200 * MIB, 32);

const compressed = {
  gzip: gzipSync(WHITE),
  br: brotliCompressSync(WHITE.subarray(0, 50 * MIB)),
  zstd: zstdCompressSync(WHITE),
};

/** Sends bytes and gives back the status, and how many bytes the service took before it closed; 0 for a reset. */
async function statusFor(port: number, head: string, body: Buffer): Promise<number> {
  const connection = await rawConnection(port);
  connection.write(head);
  connection.write(body);
  return statusOf(await connection.closed.catch(() => connection.received()));
}

test('bombs of every compression are refused, with 400 or 413 where the head alone says too much, in little memory, when forty come at once, beside genuine traffic', async () => {
  const service = await stage().start();
  const port = Number(new URL(service.url).port);
  await genuineLoad({ url: service.url, requests: 1000 });
  const before = rssOf(service.child.pid);
  const bombs = Object.entries(compressed).flatMap(([encoding, body]) =>
    Array.from({ length: 14 }, () => {
      const headers = [
        'Authorization: Bearer x',
        `Content-Encoding: ${encoding}`,
        `Content-Length: ${body.length}`,
      ];
      return statusFor(port, postText('/webhooks/media', headers), body);
    }),
  );
  const genuine = genuineLoad({ url: service.url, requests: 1000 });
  const statuses = await Promise.all(bombs);
  const seen = await genuine;
  const after = rssOf(service.child.pid);
  process.stdout.write(`${line('beside bombs', seen)}; RSS ${before} MiB before, ${after} MiB after\n`);
  expect(statuses.filter((status) => status !== 400 && status !== 413)).toEqual([]);
  expect(seen.statuses).toEqual({ 200: 1000 });
  expect(after).toBeLessThan(MOST_MIB);
}, 120_000);

test('bodies without end, announced or in chunks, are refused or cut off in little memory, beside genuine traffic', async () => {
  const service = await stage().start({ HEADERS_TIMEOUT_MS: '2000', REQUEST_TIMEOUT_MS: '2000' });
  const port = Number(new URL(service.url).port);
  const chunk = Buffer.concat([
    Buffer.from(`${MIB.toString(16)}\r\n`),
    Buffer.alloc(MIB, 32),
    Buffer.from('\r\n'),
  ]);
  const endless = Array.from({ length: 20 }, async (_, number) => {
    const connection = await rawConnection(port);
    const framing = number % 2 === 0 ? 'Transfer-Encoding: chunked' : 'Content-Length: 99999999999';
    connection.write(postText('/webhooks/media', ['Authorization: Bearer x', framing], '', 'keep-alive'));
    const feed = setInterval(() => connection.write(chunk), 20);
    await connection.closed.catch(() => {});
    clearInterval(feed);
    return statusOf(connection.received());
  });
  const seen = await genuineLoad({ url: service.url, requests: 1000 });
  const statuses = await Promise.all(endless);
  const rss = rssOf(service.child.pid);
  process.stdout.write(
    `${line('beside endless bodies', seen)}; RSS ${rss} MiB; answers ${[...new Set(statuses)]}\n`,
  );
  expect(seen.statuses).toEqual({ 200: 1000 });
  expect(statuses.filter((status) => status === 200)).toEqual([]);
  expect(rss).toBeLessThan(MOST_MIB);
}, 120_000);

test('notifications sent one behind the other without waiting are each answered in their order, when hundreds share a connection', async () => {
  const service = await stage().start();
  const connection = await rawConnection(Number(new URL(service.url).port));
  const count = 500;
  const requests = Array.from({ length: count }, (_, number) => {
    // Every fifth is forged, which takes the service another way and longer.
    const body = bodyOf(number);
    const token = tokenOf(body, number % 5 === 4 ? 'forged' : SECRET);
    const headers = [`Authorization: Bearer ${token}`, `Content-Length: ${body.length}`];
    return postText('/webhooks/media', headers, body, number === count - 1 ? 'close' : 'keep-alive');
  });
  connection.write(requests.join(''));
  const statuses = [...(await connection.closed).matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) =>
    Number(status),
  );
  const forged = statuses.filter((_, number) => number % 5 === 4);
  expect(statuses).toHaveLength(count);
  expect(new Set(statuses.filter((_, number) => number % 5 !== 4))).toEqual(new Set([200]));
  expect(forged.filter((status) => status === 401)).toHaveLength(60);
  expect(forged.filter((status) => status === 429)).toHaveLength(forged.length - 60);
});
