import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const database = databaseForEachTest();
const start = () =>
  startProcess({ ...database().env, WEBHOOK_SECRET: SECRET, SHUTDOWN_GRACE_MS: '3000' }, slow);
const slow = new URL('../support/slow-handlers.ts', import.meta.url);
const ACKNOWLEDGED = size({ small: 100, full: 500 });
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
  await eventually('enough is acknowledged', () => acknowledged.length >= ACKNOWLEDGED);
  service.child.kill('SIGTERM');
  expect(await Promise.all(clients)).toEqual(Array(16).fill(503));
  expect(await service.exited).toBe(0);

  const store = await database().open();
  const found = await Promise.all(acknowledged.map((id) => store.event(id)));
  expect(found.filter((event) => event === undefined)).toEqual([]);
  expect(await store.count({ status: 'running' })).toBe(0);
  const [interrupted] = await eventsIn(store, { resource: 'media:media0' }, 1);
  expect(interrupted).toMatchObject({ status: 'pending', attempts: 0 });
});

test('answers a request that is under way, when SIGTERM comes in the middle of its body, with 200', async () => {
  const service = await start();
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  const body = bodyOf(1_000_000);
  const { signNotification, keyOf } = await import('../../src/notification/token.ts');
  const token = signNotification(body, keyOf(SECRET));
  const half = Math.floor(body.length / 2);
  socket.write(
    `POST /webhooks/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body.slice(0, half)}`,
  );
  await fetch(`${service.url}/healthz`); // by then the first half was read
  service.child.kill('SIGTERM');
  const isReady = async () => (await fetch(`${service.url}/readyz`)).status === 200;
  await eventually('it stops', async () => service.output().includes('stopping') || !(await isReady()));
  socket.write(body.slice(half));
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
  socket.destroy();
  expect(await service.exited).toBe(0);
});
