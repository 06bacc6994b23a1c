import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { only } from '../support/only.ts';
import { chunked, exchange, postText, statusOf } from '../support/raw-http.ts';
import { receiverForAllTests, receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const shared = receiverForAllTests();
const text = JSON.stringify(notification());
const authorization = `Bearer ${tokenOf(text, SECRET)}`;

describe('the content type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=utf-16',
    'text/plain; charset=latin1',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/vnd.provider.v2+json',
    'no content type at all',
  ])('%s, whatever the body really is, is taken with 200', async (type) => {
    const { app } = shared();
    const response = await request(app)
      .post(PATH)
      .set('Authorization', authorization)
      .set('Content-Type', type)
      .send(text);
    expect(response.status).toBe(200);
  });

  test('is not needed: without one the notification is taken with 200', async () => {
    const headers = [`Authorization: ${authorization}`, `Content-Length: ${text.length}`];
    expect(statusOf(await exchange(shared().app, postText(PATH, headers, text)))).toBe(200);
  });
});

describe('a compressed body', () => {
  const post = (encoding: string, body: Buffer) =>
    request(shared().app)
      .post(PATH)
      .set('Authorization', authorization)
      .set('Content-Encoding', encoding)
      .send(body);

  test.each([
    ['gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['gzip, identity', gzipSync(text)],
    ['compress', Buffer.from(text)],
    ['foo', Buffer.from(text)],
    ['', Buffer.from(text)],
  ])(
    'said to be in %p, though it is genuine and whatever it really is, is refused with 400',
    async (encoding, body) => {
      const response = await post(encoding, body);
      expect([response.status, response.body]).toEqual([400, { error: 'the body is compressed' }]);
    },
  );

  test.each(['identity', 'Identity'])(
    'that is not compressed, and says so by %s, is taken with 200',
    async (encoding) => {
      expect((await post(encoding, Buffer.from(text))).status).toBe(200);
    },
  );

  test('that never comes is not waited for, and is refused with 400', async () => {
    const headers = [`Authorization: ${authorization}`, 'Content-Encoding: gzip', 'Content-Length: 60000'];
    const answer = await exchange(shared().app, postText(PATH, headers));
    expect(statusOf(answer)).toBe(400);
  });
});

describe('a body in chunks', () => {
  const headers = [`Authorization: ${authorization}`, 'Transfer-Encoding: chunked'];

  test('of any size, being genuine, is taken with 200 and stored as one text', async () => {
    const { app, events } = await start();
    const answer = await exchange(app, postText(PATH, headers, chunked(...text)));
    expect(statusOf(answer)).toBe(200);
    expect(only(await events()).body).toBe(text);
  });

  test('cut within a character, being genuine, is taken with 200 and the character is whole', async () => {
    const { app, events } = await start();
    const body = JSON.stringify(notification({ title: '😀' }));
    const bytes = Buffer.from(body);
    const middle = bytes.indexOf('😀') + 2;
    const parts = [bytes.subarray(0, middle), bytes.subarray(middle), Buffer.alloc(0)];
    const frames = parts.flatMap((part) => [
      Buffer.from(`${part.length.toString(16)}\r\n`),
      part,
      Buffer.from('\r\n'),
    ]);
    const head = postText(PATH, [
      `Authorization: Bearer ${tokenOf(body, SECRET)}`,
      'Transfer-Encoding: chunked',
    ]);
    expect(statusOf(await exchange(app, Buffer.concat([Buffer.from(head), ...frames])))).toBe(200);
    expect(only(await events()).body).toBe(body);
  });

  test('that goes over the limit without having announced it is refused with 413', async () => {
    const { app, events } = await start();
    const body = chunked(...Array.from({ length: 70 }, () => 'x'.repeat(1024)));
    const answer = await exchange(app, postText(PATH, headers, body));
    expect(statusOf(answer)).toBe(413);
    expect(answer).toContain('{"error":"the body is too large"}');
    expect(await events()).toEqual([]);
  });

  test('of nothing is refused with 400', async () => {
    const answer = await exchange(shared().app, postText(PATH, headers, '0\r\n\r\n'));
    expect(statusOf(answer)).toBe(400);
    expect(answer).toContain('{"error":"the body is not valid JSON"}');
  });
});

describe('an empty body', () => {
  test.each(['Content-Length: 0', 'X-Nothing: about a body'])(
    'with %s is refused with 400',
    async (header) => {
      const answer = await exchange(
        shared().app,
        postText(PATH, [`Authorization: ${authorization}`, header]),
      );
      expect(statusOf(answer)).toBe(400);
      expect(answer).toContain('{"error":"the body is not valid JSON"}');
    },
  );
});
