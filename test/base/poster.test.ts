import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Poster } from '../../src/base/poster.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that does as it is told with each request on a connection, by their number. */
async function serverThat(answers: (request: number, socket: Socket) => void): Promise<string> {
  let requests = 0;
  const server = createTcpServer((socket) => {
    closers.push(() => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', () => answers(requests++, socket));
  }).listen(0, '127.0.0.1');
  closers.push(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function poster(): Poster {
  const made = new Poster();
  closers.push(() => made.close());
  return made;
}

const post = { headers: { 'Content-Length': '2' }, body: '{}', timeoutMs: 5000 };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone';

describe('a poster', () => {
  test('posts again on a new connection, when the one that was kept alive was closed in the same moment', async () => {
    const url = await serverThat((request, socket) => {
      if (request === 1) socket.resetAndDestroy();
      else socket.write(OK);
    });
    const sender = poster();
    const answered = { type: 'answered', status: 200, body: 'done' };
    expect(await sender.post({ ...post, url })).toEqual(answered);
    expect(await sender.post({ ...post, url })).toEqual(answered);
  });

  test('tells the error, when a first connection is reset, and does not post again', async () => {
    let requests = 0;
    const url = await serverThat((_request, socket) => {
      requests++;
      socket.resetAndDestroy();
    });
    expect(await poster().post({ ...post, url })).toEqual({ type: 'unanswered', error: 'ECONNRESET' });
    expect(requests).toBe(1);
  });

  test('gives up, when the time is over, and closes the connection', async () => {
    const closed = Promise.withResolvers<void>();
    const url = await serverThat((_request, socket) => void socket.on('close', () => closed.resolve()));
    expect(await poster().post({ ...post, url, timeoutMs: 500 })).toEqual({ type: 'timed out' });
    await closed.promise;
  });

  test('follows no redirect, and tells it as an answer', async () => {
    const url = await serverThat((_request, socket) =>
      socket.write('HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n'),
    );
    expect(await poster().post({ ...post, url })).toEqual({ type: 'answered', status: 302, body: '' });
  });
});
