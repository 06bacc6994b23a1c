import type { RequestListener } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Listener } from '../../src/base/listener.ts';
import { boundedListener } from '../support/bounded-listener.ts';
import { eventually } from '../support/eventually.ts';
import { postText, type RawConnection, rawConnection, statusOf } from '../support/raw-http.ts';

const options = {
  host: '127.0.0.1',
  port: 0,
  bodyLimit: 65_536,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 60_000,
  maxConnections: 5000,
};
const listeners: Listener[] = [];
const connections: RawConnection[] = [];

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  for (const listener of listeners.splice(0)) await listener.close(0);
});

async function start(app: RequestListener, changes: Partial<typeof options> = {}): Promise<Listener> {
  const listener = await boundedListener(app, { ...options, ...changes });
  listeners.push(listener);
  return listener;
}

async function connected({ port }: Listener): Promise<RawConnection> {
  const connection = await rawConnection(port);
  connections.push(connection);
  return connection;
}

/** Answers with how many bytes the body had, and how many of them were an x. */
const counting: RequestListener = (req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const body = Buffer.concat(chunks).toString('latin1');
    res.end(`${body.length} bytes, ${body.replaceAll(/[^x]/g, '').length} x`);
  });
};

describe('a connection', () => {
  test('has one request under way at a time, when many are sent behind each other, and all are answered in their order', async () => {
    let underWay = 0;
    let most = 0;
    const listener = await start((req, res) => {
      most = Math.max(most, ++underWay);
      setImmediate(() => {
        underWay--;
        res.end(`[${req.url}]`);
      });
    });
    const connection = await connected(listener);
    const paths = Array.from({ length: 300 }, (_, number) => `/${number}`);
    const requests = paths.map((path) => postText(path, ['Content-Length: 3'], 'abc', 'keep-alive'));
    connection.write(requests.join(''));
    await eventually('all are answered', () => connection.received().includes('[/299]'));
    expect([...connection.received().matchAll(/\[(.*?)\]/g)].map(([, path]) => path)).toEqual(paths);
    expect(most).toBe(1);
  });

  test.each([
    ['in one piece', 65_536],
    ['in pieces of 20,000 bytes', 20_000],
    ['in pieces of 777 bytes', 777],
  ])('gets the whole body to the app, when it comes %s', async (_what, size) => {
    const connection = await connected(await start(counting));
    const bytes = Buffer.from(postText('/', ['Content-Length: 65000'], 'x'.repeat(65_000)));
    for (let at = 0; at < bytes.length; at += size) connection.write(bytes.subarray(at, at + size));
    expect(await connection.closed).toContain('65000 bytes, 65000 x');
  });

  test('gets large headers to the app, when they come in pieces, and the empty lines before them do not count', async () => {
    const listener = await start((req, res) => void res.end(`${req.headers['x-long']?.length} long`));
    const connection = await connected(listener);
    const head = Buffer.from(`\r\n\r\n${postText('/', [`X-Long: ${'y'.repeat(80_000)}`])}`);
    for (let at = 0; at < head.length; at += 999) connection.write(head.subarray(at, at + 999));
    expect(await connection.closed).toContain('80000 long');
  });

  test.each([2, 1_000_000])(
    'is closed, when it was answered before all %i bytes of its body had come, so that it holds nothing on',
    async (length) => {
      const listener = await start((_req, res) => void res.writeHead(401).end());
      const connection = await connected(listener);
      connection.write(postText('/', [`Content-Length: ${length}`], 'x', 'keep-alive'));
      const answer = await connection.closed;
      expect(statusOf(answer)).toBe(401);
      // A proxy that believed it to be open would lose somebody's next request on it.
      expect(answer).toMatch(/^connection: close\r$/im);
    },
  );

  test('is not read on, not even into the buffer of its socket, while its request waits for the answer, and then all is', async () => {
    const answers: (() => void)[] = [];
    const read: (() => number)[] = [];
    let atFirst = 0;
    const listener = await start((req, res) => {
      if (answers.length === 0) atFirst = req.socket.bytesRead;
      read.push(() => req.socket.bytesRead);
      answers.push(() => res.end(`[${req.url}]`));
    });
    const connection = await connected(listener);
    const requests = Array.from({ length: 6 }, (_, number) =>
      postText(`/${number}`, [`X-Long: ${'y'.repeat(60_000)}`, 'Content-Length: 0'], '', 'keep-alive'),
    );
    connection.write(requests.join(''));
    await eventually('the first has come', () => answers.length === 1);
    // What the loop of another connection needs: by then the kernel has had more bytes for this one many times.
    for (let other = 0; other < 3; other++) (await connected(listener)).destroy();
    expect(read[0]?.()).toBe(atFirst);
    for (let number = 0; number < 6; number++) {
      await eventually('the next has come', () => answers.length > number);
      answers[number]?.();
    }
    await eventually('all are answered', () => connection.received().includes('[/5]'));
  });

  test.each([
    ['a length', ['Content-Length: 3'], 'abc'],
    ['chunks', ['Transfer-Encoding: chunked'], '3\r\nabc\r\n0\r\n\r\n'],
  ])(
    'stays open, as its answer says, when a request is refused whose body, by %s, has come',
    async (_by, headers, body) => {
      const listener = await start((req, res) => void req.on('end', () => res.writeHead(401).end()).resume());
      const connection = await connected(listener);
      for (let count = 1; count <= 3; count++) {
        connection.write(postText('/', headers, body, 'keep-alive'));
        const answers = () => connection.received().match(/^connection: keep-alive\r$/gim)?.length;
        await eventually('it is answered', () => answers() === count);
      }
    },
  );

  test('stays open, as its answer says, when a request is refused at its headers and its body came along with them', async () => {
    const listener = await start((_req, res) => void res.writeHead(401).end());
    const connection = await connected(listener);
    connection.write(postText('/', ['Content-Length: 3'], 'abc', 'keep-alive'));
    connection.write(postText('/', ['Content-Length: 3'], 'abc'));
    const answers = await connection.closed;
    expect(answers.match(/^connection: .*/gim)).toEqual(['Connection: keep-alive', 'Connection: close']);
  });

  test('is read no further, when a body in tiny chunks is refused after its headers, however many chunks came along', async () => {
    let pieces = 0;
    const listener = await start((req, res) => {
      req.on('data', () => pieces++);
      queueMicrotask(() => res.writeHead(401).end());
    });
    const connection = await connected(listener);
    connection.write(
      postText('/', ['Transfer-Encoding: chunked'], '1\r\na\r\n'.repeat(10_000), 'keep-alive'),
    );
    expect(statusOf(await connection.closed)).toBe(401);
    expect(pieces).toBe(0);
  });

  test('gets a body in chunks to the app, and what comes behind it, when they come in one piece', async () => {
    const connection = await connected(await start(counting));
    const chunks = '5\r\nxxxxx\r\n'.repeat(1000);
    const chunked = postText('/', ['Transfer-Encoding: chunked'], `${chunks}0\r\n\r\n`, 'keep-alive');
    connection.write(chunked + chunked + postText('/', ['Content-Length: 3'], 'xxx'));
    const answers = await connection.closed;
    expect(answers.match(/\d+ bytes/g)).toEqual(['5000 bytes', '5000 bytes', '3 bytes']);
  });
});

describe('connections together', () => {
  test('hold no more than the bound, when they send requests without their end: some are closed, and others are served', async () => {
    const listener = await start(counting);
    const hoarders = await Promise.all(Array.from({ length: 230 }, () => connected(listener)));
    let closed = 0;
    for (const hoarder of hoarders) {
      hoarder.closed.then(() => closed++);
      hoarder.write(postText('/', ['Content-Length: 65536'], 'x'.repeat(65_535), 'keep-alive'));
    }
    // 230 of 64 KiB are 14 MiB. From 12 MiB on, when the next one comes, three quarters of 4 MiB stay.
    await eventually('hoarders are closed', () => closed >= 60);
    const other = await connected(listener);
    other.write(postText('/', ['Content-Length: 3'], 'xxx'));
    expect(await other.closed).toContain('3 bytes, 3 x');
    expect(closed).toBeLessThan(200);
  });

  test.each([
    ['at once', 0],
    ['a moment later, as where the store is asked', 50],
  ])(
    'hold no more than the bound, when they ask for what anybody may, and are answered %s: some are closed, none that was acknowledged',
    async (_when, ms) => {
      const listener = await start((req, res) => {
        if (req.method === 'POST') res.end('acknowledged');
        else setTimeout(() => res.end('alive'), ms);
      });
      const genuine = await connected(listener);
      genuine.write(postText('/', ['Content-Length: 3'], 'xxx', 'keep-alive'));
      await eventually('it is acknowledged', () => genuine.received().includes('acknowledged'));
      const askers = await Promise.all(Array.from({ length: 300 }, () => connected(listener)));
      let closed = 0;
      for (const asker of askers) {
        asker.closed.then(() => closed++);
        asker.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3000));
      }
      // 300 of 64 KiB, as far as they are read, are 19 MiB, and three quarters of 4 MiB stay.
      await eventually('askers are closed', () => closed >= 60);
      for (const connection of [genuine, await connected(listener)]) {
        connection.write(postText('/', ['Content-Length: 3'], 'xxx'));
        expect(await connection.closed).toMatch(/acknowledged$/);
      }
    },
  );

  test('are no more than allowed, when more come: one that was of no use for longest gives way', async () => {
    const listener = await start(counting, { maxConnections: 3 });
    const idle = await connected(listener);
    const useful = await connected(listener);
    useful.write(postText('/', ['Content-Length: 3'], 'xxx', 'keep-alive'));
    await eventually('it is answered', () => useful.received().includes('3 x'));
    await connected(listener);
    await connected(listener);
    await idle.closed;
    useful.write(postText('/', ['Content-Length: 2'], 'xx'));
    expect(await useful.closed).toContain('2 x');
  });

  test.each([
    ['a refusal', 'POST', 401],
    ['that the process lives', 'GET', 200],
    ['that there is nothing', 'GET', 404],
  ])('take turns, when the last answer of each was %s', async (_what, method, status) => {
    let begun = 0;
    let most = 0;
    const listener = await start((_req, res) => {
      if (begun++ === 0) {
        setImmediate(() => {
          most = Math.max(most, begun);
          begun = 0;
        });
      }
      res.writeHead(status, { 'Content-Length': 0 }).end();
    });
    const request = `${method} / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n`;
    const clients = await Promise.all(Array.from({ length: 200 }, () => connected(listener)));
    const answers = () => clients.map((client) => client.received().split('HTTP/1.1 ').length - 1);
    for (const client of clients) client.write(request);
    await eventually('each has an answer', () => answers().every((count) => count === 1));
    most = 0;
    for (const client of clients) client.write(request);
    await eventually('each has another one', () => answers().every((count) => count === 2));
    expect(most).toBeLessThanOrEqual(16);
  });
});
