import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type BoundedServerOptions, boundedServer, largestHead } from '../../src/base/bounded-server.ts';
import { Listener } from '../../src/base/listener.ts';
import { eventually } from '../support/eventually.ts';
import { type RawConnection, rawConnection } from '../support/raw-http.ts';

const options: BoundedServerOptions = {
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  bodyLimit: 1024,
  maxConnections: 3,
};

const connections: RawConnection[] = [];
let listener: Listener | undefined;
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await listener?.stop();
});

async function serve(app: RequestListener): Promise<() => Promise<RawConnection>> {
  const server = boundedServer(app, options);
  listener = await Listener.start(server, { host: '127.0.0.1', port: 0, settings: 'PORT' });
  const { port } = listener;
  return async () => {
    const connection = await rawConnection(port);
    connections.push(connection);
    return connection;
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** Answers each request once it is told to. */
function held() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const app: RequestListener = (req, res) => {
    asked.push(req.url ?? '');
    answers.push(() => void res.end(`answer to ${req.url}`));
  };
  return { app, asked, answer: () => answers.shift()?.() };
}

describe('a connection', () => {
  test('is answered once and closed, when a second request comes before the first is answered', async () => {
    const { app, asked, answer } = held();
    const connection = await (await serve(app))();
    connection.write(get('/1'));
    await eventually('it is asked', () => asked.length === 1);
    connection.write(get('/2') + get('/3'));
    await sleep(50);
    answer();
    const answers = await connection.closed;
    expect(answers).toMatch(/^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n.*answer to \/1$/s);
    expect(asked).toEqual(['/1']);
  });

  test('is closed behind its answer, when that had begun before the second request came', async () => {
    const end = Promise.withResolvers<void>();
    const connect = await serve(async (_req, res) => {
      res.writeHead(200, { 'Content-Length': 6 }).write('abc');
      await end.promise;
      res.end('def');
    });
    const connection = await connect();
    connection.write(get('/1'));
    await eventually('it has begun', () => connection.received().includes('abc'));
    connection.write(get('/2'));
    await sleep(50);
    end.resolve();
    expect(await connection.closed).toMatch(/abcdef$/);
  });

  test('is closed at once, when its client floods it behind a request that is not answered', async () => {
    const { app, asked } = held();
    const connection = await (await serve(app))();
    connection.write(get('/1') + get('/flood').repeat(100));
    await connection.closed;
    expect(asked).toEqual(['/1']);
  });

  test('serves one request after another, when each waits for the answer before', async () => {
    const connection = await (await serve((req, res) => void res.end(req.url)))();
    for (const path of ['/a', '/b', '/c']) {
      connection.write(get(path));
      await eventually('it is answered', () => connection.received().endsWith(path));
    }
  });

  test('is closed at once, when there are as many as there may be', async () => {
    const connect = await serve((_req, res) => void res.end('ok'));
    for (let count = 0; count < 3; count++) await connect();
    expect(await (await connect()).closed).toBe('');
  });
});

test('headers may be as long as a token that holds the largest body, and 16 KiB more', async () => {
  expect(largestHead(65_536)).toBe(Math.ceil((65_536 * 4) / 3) + 16_384);
  const connect = await serve((_req, res) => void res.end('ok'));
  const withToken = (length: number) =>
    `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nA: ${'x'.repeat(length)}\r\n\r\n`;
  const [fits, tooLong] = [await connect(), await connect()];
  fits.write(withToken(largestHead(options.bodyLimit) - 200));
  tooLong.write(withToken(largestHead(options.bodyLimit)));
  expect(await fits.closed).toContain('200 OK');
  expect(await tooLong.closed).toContain('431');
});

describe('closing a listener', () => {
  test('answers on open connections first, and closes those that keep silent when their time is over', async () => {
    const { app, asked, answer } = held();
    const connect = await serve(app);
    const [busy, silent] = [await connect(), await connect()];
    busy.write(get('/1'));
    await eventually('it is asked', () => asked.length === 1);
    const closed = listener?.close(500);
    listener = undefined;
    await sleep(700); // longer than the farewell
    answer();
    expect(await busy.closed).toMatch(/answer to \/1$/);
    expect(await silent.closed).toBe('');
    await closed;
  });

  test('cuts off what has not ended within the grace', async () => {
    const { app } = held();
    const connection = await (await serve(app))();
    connection.write(get('/1'));
    await sleep(50);
    await listener?.close(100);
    listener = undefined;
    expect(await connection.closed).toBe('');
  });
});
