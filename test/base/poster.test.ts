import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { Poster } from '../../src/base/poster.ts';
import { listeningOn } from '../mock/support/listening.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A poster, and how often a server was asked that does so with the first and with the second request. */
async function posting(...answers: ((socket: Socket) => void)[]) {
  let requests = 0;
  const server = createServer((socket) => {
    closers.push(() => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', () => answers[requests++]?.(socket));
  });
  const { url, close } = await listeningOn(server);
  const poster = new Poster();
  closers.push(close, () => poster.close());
  const post = (timeoutMs = 5000) =>
    poster.post({ url, headers: { 'Content-Length': '2' }, body: '{}', timeoutMs });
  return { post, requests: () => requests };
}

const answering = (text: string) => (socket: Socket) => void socket.write(`${text}\r\n\r\n`);
const ok = answering('HTTP/1.1 200 OK\r\nContent-Length: 0');
const reset = (socket: Socket) => void socket.resetAndDestroy();

test('posts again on a new connection, when the one that was kept alive was closed in the same moment', async () => {
  const { post, requests } = await posting(ok, reset, ok);
  const answered = { type: 'answered', status: 200, body: '' };
  expect([await post(), await post()]).toEqual([answered, answered]);
  expect(requests()).toBe(3);
});

test('tells that the time is over, when there is no answer, and posts once', async () => {
  const { post, requests } = await posting(() => {}, ok);
  expect(await post(200)).toEqual({ type: 'timed out', error: 'no answer within 0.2 s' });
  expect(requests()).toBe(1);
});
