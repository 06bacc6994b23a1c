import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { boundedServer, Listener } from '../../src/base/http-server.ts';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, rawConnection } from '../support/raw-http.ts';

const options = {
  HEADERS_TIMEOUT_MS: 60_000,
  REQUEST_TIMEOUT_MS: 60_000,
  KEEP_ALIVE_TIMEOUT_MS: 60_000,
  BODY_LIMIT: 1024,
  MAX_CONNECTIONS: 3,
};
const connections: RawConnection[] = [];
let listener: Listener | undefined;
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await listener?.stop().catch(() => {}); // it is closed
});

/** A listener whose answers to `/held` wait until they are let go. */
async function serve() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const app: RequestListener = (req, res) => {
    const { url = '' } = req;
    asked.push(url);
    if (url === '/held') answers.push(() => void res.end('at last'));
    else if (url === '/read') setImmediate(() => req.resume().once('end', () => res.end('read')));
    else res.end(url);
  };
  const started = await Listener.start(boundedServer(app, options), {
    host: '127.0.0.1',
    port: 0,
    settings: 'PORT',
  });
  listener = started;
  const connect = async (text = '') => {
    const connection = await rawConnection(started.port);
    connections.push(connection);
    connection.write(text);
    return connection;
  };
  const hold = async () => {
    const connection = await connect(get('/held'));
    await eventually('it is asked', () => asked.includes('/held'));
    return connection;
  };
  return { listener: started, connect, hold, asked, answer: () => answers.shift()?.() };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('a connection is answered once and closed, when a second request comes before the first is answered', async () => {
  const { hold, asked, answer } = await serve();
  const connection = await hold();
  connection.write(get('/2') + get('/3'));
  await sleep(50);
  answer();
  expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n.*at last$/s);
  expect(asked).toEqual(['/held']);
});

test('a connection is closed at once, when there are as many as there may be', async () => {
  const { connect } = await serve();
  for (let count = 0; count < options.MAX_CONNECTIONS; count++) await connect();
  expect(await (await connect()).closed).toBe('');
});

test.each([
  ['is read', 1000, 1, /read$/],
  ['is read', 2000, 70, /read$/],
  ['is cut off', 1001, 1, /^$/],
  ['is cut off', 1001, 63, /^$/],
])('a body %s, when it comes in %i pieces of %i bytes', async (_, pieces, bytes, answer) => {
  const { connect } = await serve();
  const head = 'POST /read HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
  const piece = `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;
  const connection = await connect(`${head}${piece.repeat(pieces)}0\r\n\r\n`);
  expect(await connection.closed).toMatch(answer);
});

test('a listener that closes waits for answers, and closes each connection behind its own', async () => {
  const { hold, connect, answer, listener } = await serve();
  const [busy, idle] = [await hold(), await connect(get('/a'))];
  await eventually('it is answered', () => idle.received().endsWith('/a'));
  const closed = listener.close(60_000);
  expect(await idle.closed).toMatch(/\/a$/);
  answer();
  expect(await busy.closed).toMatch(/at last$/);
  await closed;
});

test('a listener that closes cuts off what has not ended within the grace, and what keeps silent', async () => {
  const { hold, connect, listener } = await serve();
  const [busy, silent] = [await hold(), await connect()];
  await listener.close(100);
  expect([await busy.closed, await silent.closed]).toEqual(['', '']);
});
