import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
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
  const onAnswer = (status: string, { id }: { readonly id?: string }) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (id !== undefined) answered.push(id);
  };
  const client = () => sendInTurn(Number(new URL(service.url).port), BURST / CONNECTIONS, onAnswer);
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  const meanwhile = await store.queue.count({ status: 'handled' });
  const recorded = await store.queue.count({});
  while ((await store.queue.count({ status: 'handled' })) < recorded) await sleep(50);
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

let next = 0;

/** Sends so many over one connection, each once the one before is answered: fetch is too slow to press anybody. */
function sendInTurn(port: number, requests: number, onAnswer: (status: string, body: object) => void) {
  const socket = connect({ port, host: '127.0.0.1' }).setEncoding('latin1');
  let left = requests;
  const sendNext = () => {
    if (left-- === 0) return void socket.end();
    const body = bodyOf(next++);
    const headers = [`Authorization: Bearer ${tokenOf(body, SECRET)}`, `Content-Length: ${body.length}`];
    socket.write(postText('/webhooks/media', headers, body, 'keep-alive'));
  };
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
    const [, status, body] = /^HTTP\/1\.1 (\d{3}) .*?\r\n\r\n(\{.*\})$/s.exec(received) ?? [];
    if (status === undefined || body === undefined) return;
    received = '';
    onAnswer(status, JSON.parse(body));
    sendNext();
  });
  sendNext();
  return once(socket, 'close');
}
