import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { type RawConnection, rawConnection } from '../support/raw-http.ts';

const TOKEN = 'a-token-for-the-admin-listener';
let inspected: Inspected;
const connections: RawConnection[] = [];
beforeEach(async () => {
  inspected = await inspect({}, { ADMIN_TOKEN: TOKEN });
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await inspected.dispose();
});

async function connected(): Promise<RawConnection> {
  const connection = await rawConnection(Number(new URL(inspected.url).port));
  connections.push(connection);
  return connection;
}

const requestFor = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');
const authorized = `Authorization: Bearer ${TOKEN}`;

test('what comes behind a request on a connection waits for its answer, when that never ends, and is not looked at', async () => {
  const connection = await connected();
  connection.write(
    requestFor('/api/stream', authorized) + requestFor('/api/stats', 'Authorization: Bearer a-wrong-one'),
  );
  await eventually('there is an answer', () => connection.received().includes(': listening'));
  const metrics = await fetch(`${inspected.url}/metrics`, {
    headers: { Authorization: authorized.slice(15) },
  });
  expect(await metrics.text()).toContain('webhook_admin_guesses_total{result="wrong"} 0');
});

test('connections of strangers are closed, when there are too many, and a client with the token is let in once the others are closed for their silence', async () => {
  const strangers = await Promise.all(Array.from({ length: 520 }, connected));
  let closed = 0;
  for (const stranger of strangers) void stranger.closed.then(() => closed++);
  await eventually('those beyond the bound are closed', () => closed >= 20);
  await eventually('there is an answer', async () => {
    const answer = await fetch(`${inspected.url}/api/stats`, {
      headers: { Authorization: authorized.slice(15) },
    }).catch(() => undefined);
    return answer?.status === 200;
  });
});
