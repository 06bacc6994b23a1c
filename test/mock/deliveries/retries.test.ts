import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { listeningOn } from '../support/listening.ts';
import { SITE, useStage } from '../support/stage.ts';

const stage = useStage({ timeoutMs: 2000, maxAttempts: 4 });
const happen = () => stage.mock.createChannel({ site_id: SITE });
const latest = () => stage.mock.deliveries().at(-1);

describe('an attempt', () => {
  test.each([200, 201, 202, 204, 299])('is the last one, when the answer is %d', async (status) => {
    stage.receiver.answer = () => ({ status });
    stage.webhook();
    happen();
    await stage.mock.advance(86_400_000);
    expect(latest()).toMatchObject({ state: 'delivered', next_attempt_at: null });
    expect(latest()?.attempts).toHaveLength(1);
  });

  test.each([301, 307, 400, 401, 404, 410, 429, 500, 503])(
    'is repeated with backoff, when the answer is %d, at most four times',
    async (status) => {
      stage.receiver.answer = () => ({ status, headers: { Location: stage.receiver.url } });
      stage.webhook();
      happen();
      const begun = stage.mock.now();
      await stage.mock.settled();
      expect(latest()).toMatchObject({
        state: 'pending',
        next_attempt_at: new Date(begun + 1000).toISOString(),
      });
      await stage.mock.advance(86_400_000);
      expect(latest()).toMatchObject({ state: 'failed', next_attempt_at: null });
      expect(stage.receiver.received).toHaveLength(4);
      expect(latest()?.attempts.map(({ started_at }) => Date.parse(started_at) - begun)).toEqual([
        0, 1000, 3000, 7000,
      ]);
    },
  );

  test('sends the same text and token, when it is repeated, until the receiver takes it', async () => {
    stage.receiver.answer = (number) => ({ status: number < 3 ? 503 : 200 });
    stage.webhook();
    happen();
    await stage.mock.advance(86_400_000);
    expect(latest()).toMatchObject({ state: 'delivered' });
    expect(stage.receiver.received).toHaveLength(3);
    expect(new Set(stage.receiver.received.map(({ text, token }) => text + token)).size).toBe(1);
  });

  test('is repeated, when no server listens, and says why', async () => {
    const { url, close } = await listeningOn(createServer());
    await close();
    stage.webhook({ webhook_url: url });
    happen();
    await stage.mock.advance(1000);
    expect(latest()?.attempts).toMatchObject([
      { number: 1, answer: null, error: 'ECONNREFUSED', duration_ms: 0 },
      { number: 2, answer: null, error: 'ECONNREFUSED' },
    ]);
  });

  test('is repeated, when the connection is cut, and says why', async () => {
    const cutting = createServer((socket) => socket.destroy());
    const { url, close } = await listeningOn(cutting);
    stage.webhook({ webhook_url: url });
    happen();
    await stage.mock.settled();
    await close();
    expect(latest()?.attempts).toMatchObject([{ error: 'ECONNRESET' }]);
  });

  test('is made once more at once, when a connection that was kept alive turns out to be closed', async () => {
    const served = new WeakSet<object>();
    const closing = createHttpServer((request, response) => {
      if (served.has(request.socket)) request.socket.destroy();
      else response.end();
      served.add(request.socket);
    });
    const { url, close } = await listeningOn(closing);
    stage.webhook({ webhook_url: url });
    for (let i = 0; i < 4; i++) {
      happen();
      await stage.mock.settled();
    }
    await close();
    expect(stage.mock.deliveries().map(({ state, attempts }) => [state, attempts.length])).toEqual(
      Array.from({ length: 4 }, () => ['delivered', 1]),
    );
  });

  test('ends after its time-out, when no answer comes, and counts as that long on a virtual clock', async () => {
    stage.receiver.answer = (number) => (number === 1 ? undefined : { status: 200 });
    stage.webhook();
    happen();
    const begun = stage.mock.now();
    await stage.mock.settled();
    expect(latest()?.attempts).toMatchObject([
      { answer: null, error: 'no answer within 2000 ms', duration_ms: 2000 },
    ]);
    expect(latest()?.next_attempt_at).toBe(new Date(begun + 3000).toISOString());
    await stage.mock.advance(3000);
    expect(latest()?.state).toBe('delivered');
  });

  test('goes to the new URL, when the webhook was given one in the meantime', async () => {
    stage.receiver.answer = (number) => ({ status: number === 1 ? 500 : 200 });
    const { id } = stage.webhook();
    happen();
    await stage.mock.settled();
    await fetch(`${stage.mock.url}/v2/webhooks/${id}`, {
      method: 'PATCH',
      headers: { Authorization: 'mock-api-secret' },
      body: JSON.stringify({ metadata: { webhook_url: `${stage.receiver.url}/new` } }),
    });
    await stage.mock.advance(1000);
    expect(latest()?.attempts.map(({ request }) => request.url)).toEqual([
      stage.receiver.url,
      `${stage.receiver.url}/new`,
    ]);
  });

  test('still comes, when the webhook was deleted in the meantime', async () => {
    stage.receiver.answer = (number) => ({ status: number === 1 ? 500 : 200 });
    const { id } = stage.webhook();
    happen();
    await stage.mock.settled();
    stage.mock.deleteWebhook(id);
    await stage.mock.advance(1000);
    expect(latest()?.state).toBe('delivered');
    happen();
    await stage.mock.settled();
    expect(stage.receiver.received).toHaveLength(2);
  });

  test('is not made, when the mock was reset in the meantime', async () => {
    stage.receiver.answer = () => ({ status: 500 });
    stage.webhook();
    happen();
    await stage.mock.settled();
    stage.mock.reset();
    await stage.mock.advance(86_400_000);
    expect(stage.receiver.received).toHaveLength(1);
    expect(stage.mock.deliveries()).toEqual([]);
  });
});
