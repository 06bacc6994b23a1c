import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { copyProgram, ofCopies } from '../support/program-copy.ts';
import { chunked, postText, type RawConnection, rawConnection } from '../support/raw-http.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { makeManyEvents } from './many-events.ts';

const database = databaseForEachTest();
const ADMIN_TOKEN = 'the-token-of-an-administrator';

/** Its handlers are done at once. */
const startLoaded = (env: Readonly<Record<string, string>>) =>
  startProcess({ WEBHOOK_SECRET: SECRET, HANDLERS: join(import.meta.dirname, 'handlers/quick.ts'), ...env });
const portOf = ({ url }: ServiceProcess) => Number(new URL(url).port);
const adminOf = (service: ServiceProcess) => String(/"url":"(.*?)"/.exec(service.output())?.[1]);
const isAcknowledged = async ({ url }: ServiceProcess, number: number) =>
  (await deliver(url, bodyOf(number))).status === 200;

/** Asks the admin listener as an administrator does. */
function ask(service: ServiceProcess, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
  return fetch(`${adminOf(service)}${path}`, { headers, redirect: 'manual', ...init });
}

test('a receiver records, refuses, reports and shows its pages as before, when its program is removed while it runs', async () => {
  const copy = copyProgram();
  const env = { ...database().env, ...ofCopies, WEBHOOK_SECRET: SECRET, ADMIN_TOKEN };
  const service = await startProcess(env, undefined, join(copy, 'bin/hookkit.js'));
  rmSync(copy, { recursive: true });
  expect(await isAcknowledged(service, 1)).toBe(true);
  // Genuine, and not written as the provider writes it; and one that goes to quarantine.
  const body = bodyOf(2);
  const post = (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    return fetch(`${service.url}/webhooks/media`, { method: 'POST', headers, body });
  };
  expect((await post(tokenOf(body, SECRET, { header: '{"typ":"JWT","alg":"HS256"}' }))).status).toBe(200);
  expect((await post(tokenOf(body, 'another secret'))).status).toBe(401);
  for (const path of ['/', '/events', '/problems', '/refused', '/webhooks', '/channels', '/metrics'])
    expect([path, (await ask(service, path)).status]).toEqual([path, 200]);
  const signIn = { method: 'POST', body: new URLSearchParams({ token: ADMIN_TOKEN }), headers: {} };
  expect((await ask(service, '/sign-in', signIn)).status).toBe(303);
  const paused = await ask(service, '/api/pause', { method: 'POST', body: '{"reason":"an upgrade"}' });
  expect(paused.status).toBe(200);
  // It has the process report what it counted, with the version of its program.
  const { refusals } = (await (await ask(service, '/api/refusals')).json()) as { refusals: object[] };
  expect(refusals).toHaveLength(1);
  await service.stop();
});

const FILES = 256;

test(`a receiver that may open ${FILES} files takes half as many connections, says so, and goes on, when more come than that`, async () => {
  const env = { ...database().env, WEBHOOK_SECRET: SECRET };
  const service = await startProcess(env, undefined, undefined, ['prlimit', `--nofile=${FILES}`]);
  expect(service.output()).toContain(`"connections":${FILES / 2},"wanted":5000`);
  const attackers: RawConnection[] = [];
  for (let count = 0; count < 2 * FILES; count++) {
    const connection = await rawConnection(portOf(service));
    connection.write('POST /webhooks/media HTTP/1.1\r\nHost: x\r\n');
    attackers.push(connection);
  }
  expect((await ask(service, '/api/stats')).status).toBe(200);
  for (const attacker of attackers) attacker.destroy();
  await eventually('acks go on', () => isAcknowledged(service, 1).catch(() => false));
  await service.stop();
});

const CONNECTIONS = 40;
const MOST_MIB = 256;

test.each([
  ['public', '/webhooks/media'],
  ['admin', '/sign-in'],
])('the %s listener cuts off bodies in tiny pieces, and stays within its memory', async (listener, path) => {
  const NODE_OPTIONS = `--max-old-space-size=${MOST_MIB}`;
  const service = await startLoaded({ ...database().env, ADMIN_TOKEN, NODE_OPTIONS });
  const port = listener === 'admin' ? Number(new URL(adminOf(service)).port) : portOf(service);
  const form = 'Content-Type: application/x-www-form-urlencoded';
  const head = postText(
    path,
    ['Authorization: Bearer x', 'Transfer-Encoding: chunked', form],
    '',
    'keep-alive',
  );
  const pieces = chunked(...Array<string>(4000).fill('a')).slice(0, -5); // it does not end
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => rawConnection(port)));
  for (const { write } of connections) write(head.replace('localhost', '127.0.0.1') + pieces);
  const answers = await Promise.all(connections.map(({ closed }) => closed));
  expect(answers).toEqual(Array(CONNECTIONS).fill(''));
  expect(await isAcknowledged(service, 1)).toBe(true);
  await service.stop();
});

const EVENTS = 300_000;
/** What `docker stop` gives a process. */
const STOP_MS = 10_000;

test(`a process is gone before docker would kill it, when SIGTERM comes during a replay of ${EVENTS} events, while handlers and the close of the app hang, and what it leaves is handled`, async () => {
  const path = join(database().directory, 'receiver.db');
  await makeManyEvents({ path, events: EVENTS });
  const HANDLERS = join(import.meta.dirname, 'handlers/endless.ts');
  const env = { ...database().env, ADMIN_TOKEN, LEASE_MS: '2000' };
  const service = await startLoaded({ ...env, HANDLERS, DRAIN_MS: '' });
  expect(await isAcknowledged(service, 1)).toBe(true);
  ask(service, '/api/events/replay', { method: 'POST', body: '{"status":"handled"}' }).catch(() => {}); // the stop cuts it off
  const store = await database().open();
  await eventually('it has reset many', async () => (await store.reports.overview()).waiting > 20_000);
  service.child.kill('SIGTERM');
  const code = await Promise.race([service.exited, sleep(STOP_MS, 'killed')]);
  expect([0, 1]).toContain(code);
  const next = await startLoaded(env);
  const own = { resource: 'media:media1', status: 'handled' } as const;
  await eventually(
    'the event of the handler that hung is handled',
    async () => (await store.queue.count(own)) === 1,
  );
  const { dead, waiting, pending } = await store.reports.overview();
  expect(dead).toBe(0);
  expect(pending + (await store.queue.count({ status: 'handled' }))).toBeGreaterThanOrEqual(EVENTS);
  expect(pending).toBeGreaterThanOrEqual(waiting);
  await next.stop();
}, 120_000);
