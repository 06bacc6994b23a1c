import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { rssOf } from '../support/memory.ts';
import { bodyOf } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
import { genuineLoad, line } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
const CONNECTIONS = 20;
const PER_SECOND = 10_000;
const SECONDS = 10;
const LIMIT = 60;

interface Flood {
  sent: number;
  readonly statuses: Record<string, number>;
  withoutRetryAfter: number;
}

/** Sends forged notifications from one address at a steady rate for so many seconds; resolves when all are answered. */
async function flood(port: number, isOver: () => boolean): Promise<Flood> {
  const bodies = Array.from({ length: 50 }, (_, number) => bodyOf(5_000_000 + number));
  const requests = bodies.map((body) =>
    postText(
      '/webhooks/media',
      [`Authorization: Bearer ${tokenOf(body, 'forged')}`, `Content-Length: ${body.length}`],
      body,
      'keep-alive',
    ),
  );
  const block = requests.join('');
  const seen: Flood = { sent: 0, statuses: {}, withoutRetryAfter: 0 };
  const every = (1000 * CONNECTIONS * bodies.length) / PER_SECOND;
  const senders = Array.from({ length: CONNECTIONS }, async () => {
    const socket = connect({ port, host: '127.0.0.1' }).setEncoding('latin1');
    let [rest, answered, sent] = ['', 0, 0];
    const done = new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (isOver()) {
          clearInterval(timer);
          if (answered === sent) resolve();
          return;
        }
        if (sent - answered > 2 * bodies.length) return; // as fast as it can take it
        socket.write(block);
        sent += bodies.length;
        seen.sent += bodies.length;
      }, every);
      socket.on('data', (chunk) => {
        const answers = (rest + chunk).split('HTTP/1.1 ');
        rest = answers.pop() ?? '';
        if (rest.endsWith('"}')) answers.push(rest);
        if (rest.endsWith('"}')) rest = '';
        for (const answer of answers.filter((text) => text !== '')) {
          const status = answer.slice(0, 3);
          answered++;
          seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
          if (status === '429' && !/^Retry-After: \d+\r$/m.test(answer)) seen.withoutRetryAfter++;
        }
        if (rest !== '') rest = `HTTP/1.1 ${rest}`;
        if (isOver() && answered === sent) resolve();
      });
      socket.on('error', () => resolve());
    });
    await done;
    socket.destroy();
  });
  await Promise.all(senders);
  return seen;
}

test(`forged notifications, ${PER_SECOND} a second from one address, are throttled with 429 and Retry-After, and genuine ones from the same address never`, async () => {
  const service = await stage().start({ REJECT_LIMIT: String(LIMIT) });
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
  const rate = Math.round((1000 * seen.sent) / (performance.now() - began));
  process.stdout.write(
    `forged: ${seen.sent} sent, ${rate} answered a second, ${JSON.stringify(seen.statuses)}; RSS ${rssOf(service.child.pid)} MiB\n` +
      `${line('genuine alone', alone)}\n${line('genuine beside them', genuine)}\n`,
  );
  expect(genuine.statuses).toEqual({ 200: 2000 });
  expect(seen.statuses).toEqual({ 401: LIMIT, 429: seen.sent - LIMIT });
  expect(seen.withoutRetryAfter).toBe(0);
}, 180_000);
