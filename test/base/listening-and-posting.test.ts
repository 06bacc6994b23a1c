import { createServer, type RequestListener } from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { boundedServer, type Listener, listen } from '../../src/base/http-server.ts';
import { post } from '../../src/base/post.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
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
  const started = await listen(boundedServer(app, options), {
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

test('a listener that closes cuts off what has not ended within the grace, and what keeps silent', async () => {
  const { hold, connect, listener } = await serve();
  const [busy, silent] = [await hold(), await connect()];
  await listener.close(100);
  expect([await busy.closed, await silent.closed]).toEqual(['', '']);
});

describe('posting', () => {
  const SPACES = Buffer.alloc(4 * 1024 * 1024, ' ');
  const CHUNKS = { identity: SPACES, gzip: gzipSync(SPACES) };

  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** Answers without end, until the connection is closed. */
  async function endless(coding: keyof typeof CHUNKS) {
    const seen = { answers: 0, closed: 0 };
    const server = createServer((_asked, response) => {
      seen.answers++;
      response.on('close', () => seen.closed++);
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': coding });
      const write = () => {
        while (!response.destroyed)
          if (!response.write(CHUNKS[coding])) return void response.once('drain', write);
      };
      write();
    });
    const { url, close } = await listeningOn(server);
    closers.push(close);
    return { url, seen };
  }

  /** One who reads answers by fetch, and one who posts. Resolves with what they tell of it. */
  const readers: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
    'the client of a provider': (baseUrl) =>
      new WebhooksClient({ baseUrl, apiSecret: 's3cret' }).get('a').catch((error) => error.message),
    'the mock': async (url) => {
      const mock = await MockProvider.start({ port: 0, clock: new VirtualClock(), maxAttempts: 1 });
      closers.push(() => mock.close());
      mock.createWebhook({ name: 'a', webhook_url: url, events: ['channel_created'], site_ids: ['s'] });
      mock.createChannel({ site_id: 's' });
      await mock.settled();
      return mock.deliveries()[0]?.attempts[0]?.error;
    },
  };

  test.each(Object.keys(readers))('an answer without end to %s is given up after 1 MiB', async (reader) => {
    for (const coding of ['identity', 'gzip'] as const) {
      const { url, seen } = await endless(coding);
      expect(await readers[reader]?.(url)).toContain('1 MiB');
      await eventually('every connection is closed', () => seen.closed === seen.answers);
    }
  });

  test('posts again on a new connection, when the one that was kept alive was closed in the same moment', async () => {
    let requests = 0;
    const server = createSocketServer((socket) => {
      closers.push(() => socket.destroy());
      socket.on('error', () => {});
      socket.on('data', () => {
        if (++requests === 2) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    const { url, close } = await listeningOn(server);
    closers.push(close);
    const one = { url, headers: { 'Content-Length': '2' }, body: '{}', timeoutMs: 5000 };
    const answered = { type: 'answered', status: 200, body: '' };
    expect([await post(one), await post(one)]).toEqual([answered, answered]);
    expect(requests).toBe(3);
  });
});
