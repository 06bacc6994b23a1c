import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { testReceiver } from 'webhook-receiver-kit/testing';
import { forward, keyBytesOf, signatureOf } from './forward.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The other system: it gives these answers, then 204. */
async function otherSystem(...statuses: number[]) {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    arrived.push({ headers: request.headers, body: await text(request) });
    response.writeHead(statuses.shift() ?? 204).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrived,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('a notification goes on, signed, with the id of the event', async () => {
  using other = await otherSystem();
  await using kit = await testReceiver({ handlers: forward({ url: other.url, secret: SECRET }) });
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  await kit.settled();
  const { id, notification } = await kit.event();
  const [{ headers, body } = { headers: {}, body: '{}' }] = other.arrived;
  assert.deepEqual(JSON.parse(body), notification);
  assert.equal(headers['webhook-id'], id);
  const signed = signatureOf(`${id}.${headers['webhook-timestamp']}.${body}`, keyBytesOf(SECRET));
  assert.equal(headers['webhook-signature'], `v1,${signed}`);
});

test('a notification is sent again, when the other system cannot take it', async () => {
  using other = await otherSystem(503, 429);
  await using kit = await testReceiver({ handlers: forward({ url: other.url, secret: SECRET }) });
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  await kit.settled();
  const { status, starts } = await kit.event();
  assert.deepEqual({ status, starts }, { status: 'handled', starts: 3 });
  assert.equal(new Set(other.arrived.map(({ headers }) => headers['webhook-id'])).size, 1);
});
