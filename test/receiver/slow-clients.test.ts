import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import type { Listener } from '../../src/base/listener.ts';
import { boundedListener } from '../support/bounded-listener.ts';
import { eventually } from '../support/eventually.ts';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { postText, type RawConnection, rawConnection, statusOf } from '../support/raw-http.ts';
import { type ReceiverFixture, receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const text = JSON.stringify(notification());
const head = [`Authorization: Bearer ${tokenOf(text, SECRET)}`, `Content-Length: ${text.length}`];

const options = {
  host: '127.0.0.1',
  port: 0,
  bodyLimit: 65_536,
  headersTimeoutMs: 150,
  requestTimeoutMs: 300,
  keepAliveTimeoutMs: 200,
  maxConnections: 5000,
};

let receiver: ReceiverFixture;
let listener: Listener;
let closing: Promise<void> | undefined;
const connections: RawConnection[] = [];

beforeEach(async () => {
  receiver = await start();
  closing = undefined;
  listener = await boundedListener(receiver.listener, options);
});

afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await close();
});

function close(): Promise<void> {
  closing ??= listener.close(200);
  return closing;
}

async function connected(): Promise<RawConnection> {
  const connection = await rawConnection(listener.port);
  connections.push(connection);
  return connection;
}

/** A genuine notification over a connection of its own. */
async function genuine(media_id: string): Promise<number> {
  const body = JSON.stringify(notification({ media_id }));
  const connection = await connected();
  connection.write(
    postText(
      PATH,
      [`Authorization: Bearer ${tokenOf(body, SECRET)}`, `Content-Length: ${body.length}`],
      body,
    ),
  );
  return statusOf(await connection.closed);
}

describe('a client', () => {
  test('is dropped, when it does not send its headers to their end, with 408', async () => {
    const connection = await connected();
    connection.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\n`);
    expect(statusOf(await connection.closed)).toBe(408);
    expect(await receiver.events()).toEqual([]);
  });

  test('is dropped, when it does not send its headers in time, though it would have long for the whole request', async () => {
    await close();
    closing = undefined;
    listener = await boundedListener(receiver.listener, { ...options, requestTimeoutMs: 60_000 });
    const connection = await connected();
    connection.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\n`);
    expect(statusOf(await connection.closed)).toBe(408);
  });

  test('is dropped, when it sends its headers byte by byte and never to their end', async () => {
    const connection = await connected();
    connection.write(`POST ${PATH} HTTP/1.1\r\nX-Slow: `);
    const drip = setInterval(() => connection.write('x'), 20);
    await connection.closed;
    clearInterval(drip);
  });

  test('is dropped, when it connects and sends nothing', async () => {
    const connection = await connected();
    await connection.closed;
  });

  test('is dropped, when it does not send its body to its end, and nothing is recorded', async () => {
    const connection = await connected();
    connection.write(postText(PATH, head, text.slice(0, 20)));
    await connection.closed;
    expect(await receiver.events()).toEqual([]);
  });

  test('is dropped, when it sends a body without end, however fast, and nothing is recorded', async () => {
    const connection = await connected();
    connection.write(postText(PATH, ['Transfer-Encoding: chunked']));
    const flood = setInterval(() => connection.write(`2000\r\n${'x'.repeat(0x2000)}\r\n`), 5);
    await connection.closed;
    clearInterval(flood);
    expect(await receiver.events()).toEqual([]);
  });

  test('is dropped, when it keeps its connection open after an answer and says nothing more', async () => {
    const connection = await connected();
    connection.write(postText(PATH, head, text, 'keep-alive'));
    expect(statusOf(await connection.closed)).toBe(200);
  });

  test('is served again on the same connection, when it sends the next request in time, with 200 each', async () => {
    const connection = await connected();
    connection.write(postText(PATH, head, text, 'keep-alive'));
    await eventually('the first answer is there', () => connection.received().includes('accepted'));
    connection.write(postText(PATH, head, text));
    expect((await connection.closed).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  test('is served, when others hold a hundred connections with half a request each, with 200', async () => {
    const slow = await Promise.all(Array.from({ length: 100 }, connected));
    for (const [index, connection] of slow.entries()) {
      connection.write(index % 2 ? postText(PATH, head, text.slice(0, 9)) : 'POST / HTTP/1.1\r\n');
    }
    const statuses = [];
    for (let count = 0; count < 10; count++) statuses.push(await genuine(`media${count}`));
    expect(statuses).toEqual(Array(10).fill(200));
    await Promise.all(slow.map(({ closed }) => closed));
    expect(await receiver.events()).toHaveLength(10);
  });
});

describe('closing the listener', () => {
  test('answers a request, when it is under way, before it closes', async () => {
    const connection = await connected();
    connection.write(postText(PATH, head, text.slice(0, 20), 'keep-alive'));
    const closed = close();
    connection.write(text.slice(20));
    await closed;
    expect(statusOf(await connection.closed)).toBe(200);
    expect(await receiver.events()).toHaveLength(1);
  });

  test.each([
    ['half of its headers', `POST ${PATH} HTTP/1.1\r\nHost: x\r\n`],
    ['half of its body', postText(PATH, head, text.slice(0, 20), 'keep-alive')],
    [
      'a whole request and half of the next',
      `${postText(PATH, head, text, 'keep-alive')}POST ${PATH} HTTP/1.1\r\n`,
    ],
    ['nothing', ''],
  ])('ends, when a client has sent %s and sends no more, as its time runs out', async (_what, request) => {
    await close();
    closing = undefined;
    // Longer than the farewell: its time is not over yet when the server takes no more connections.
    listener = await boundedListener(receiver.listener, {
      ...options,
      headersTimeoutMs: 900,
      requestTimeoutMs: 900,
    });
    const connection = await connected();
    connection.write(request);
    expect(await genuine('other')).toBe(200); // by now the server has read the other one's bytes too
    let closed = false;
    close().then(() => {
      closed = true;
    });
    await eventually('the listener is closed', () => closed);
  });
});

describe('starting a listener', () => {
  test('rejects, when its port is taken, with the reason', async () => {
    await expect(boundedListener(express(), { ...options, port: listener.port })).rejects.toThrow(
      'EADDRINUSE',
    );
  });
});
