import { describe, expect, test } from '@jest/globals';
import { keyOf, verifyNotification } from '../../../src/notification/token.ts';
import { SITE, useStage } from '../support/stage.ts';

const stage = useStage();
const REAL =
  '{"event":"conversions_complete","media_id":"MNYaMSQl","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-27T00:20:57+00:00"}';

describe('a delivery', () => {
  test('is a POST of JSON with a bearer token, when something happens, to the very path', async () => {
    stage.webhook({ webhook_url: `${stage.receiver.url}?a=b` });
    stage.mock.createChannel({ site_id: SITE });
    await stage.mock.settled();
    const [request] = stage.receiver.received;
    expect(request?.method).toBe('POST');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(request?.text.length),
      authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
    });
    expect(stage.mock.deliveries()[0]?.attempts[0]?.request.url).toBe(`${stage.receiver.url}?a=b`);
  });

  test('has for claims the very text that is sent, without iat or exp', async () => {
    stage.webhook();
    stage.mock.createChannel({ site_id: SITE });
    await stage.mock.settled();
    const [request] = stage.receiver.received;
    const [header, claims] = (request?.token ?? '').split('.');
    expect(Buffer.from(claims ?? '', 'base64url').toString()).toBe(request?.text);
    expect(Buffer.from(header ?? '', 'base64url').toString()).toBe('{"alg":"HS256","typ":"JWT"}');
  });

  test('goes to each webhook that matches, with its own webhook_id under its own secret', async () => {
    const webhooks = [stage.webhook(), stage.webhook({ site_ids: ['jsPxIVHl', SITE] })];
    stage.webhook({ site_ids: ['jsPxIVHl'] });
    stage.mock.createChannel({ site_id: SITE });
    await stage.mock.settled();
    expect(stage.receiver.received.map(({ body }) => body.webhook_id)).toEqual(webhooks.map(({ id }) => id));
    stage.receiver.received.forEach(({ body, text, token }, i) => {
      expect(
        verifyNotification(token, Buffer.from(text), body, [keyOf(webhooks[i]?.secret ?? '')]),
      ).toBeUndefined();
    });
  });

  test('goes to twenty webhooks side by side, when time is real, and each gets its own in order', async () => {
    const { MockProvider } = await import('../../../src/mock/index.ts');
    const mock = await MockProvider.start({ port: 0 });
    const metadata = {
      name: 'a',
      webhook_url: stage.receiver.url,
      events: ['channel_active' as const, 'channel_idle' as const],
      site_ids: [SITE],
    };
    for (let i = 0; i < 20; i++) mock.createWebhook(metadata);
    const { channel_id } = mock.createChannel({ site_id: SITE });
    for (let i = 0; i < 5; i++) {
      mock.activateChannel(channel_id);
      mock.idleChannel(channel_id);
    }
    await mock.settled();
    await mock.close();
    expect(stage.receiver.received).toHaveLength(200);
    for (const own of Map.groupBy(stage.receiver.received, ({ body }) => body.webhook_id).values()) {
      expect(own.map(({ body }) => body.event)).toEqual(
        Array.from({ length: 5 }, () => ['channel_active', 'channel_idle']).flat(),
      );
    }
  });
});

describe('any payload', () => {
  test('is sent as it is, when it names its webhook, whatever that one listens to', async () => {
    const { id, secret } = stage.webhook({ events: [], site_ids: [] });
    const payload = { ...JSON.parse(REAL), webhook_id: id, extra: [1, { a: null }], iat: 5 };
    stage.mock.sendNotification(payload);
    await stage.mock.settled();
    const [request] = stage.receiver.received;
    expect(request?.text).toBe(JSON.stringify(payload));
    expect(
      verifyNotification(request?.token ?? '', Buffer.from(request?.text ?? ''), payload, [keyOf(secret)]),
    ).toBeUndefined();
  });

  test('gets the webhook_id in its place, when it names none, for each webhook that matches', async () => {
    const { id } = stage.webhook();
    stage.webhook({ events: ['media_created'] });
    stage.webhook({ site_ids: ['jsPxIVHl'] });
    const { webhook_id: _, ...payload } = JSON.parse(REAL);
    expect(stage.mock.sendNotification(payload)).toHaveLength(1);
    await stage.mock.settled();
    expect(stage.receiver.received.map(({ text }) => text)).toEqual([REAL.replace('2yW4KmiG', id)]);
  });

  test('goes to all webhooks of its site, when no webhook can subscribe to its kind', async () => {
    stage.webhook({ events: [] });
    stage.webhook({ site_ids: ['jsPxIVHl'] });
    expect(stage.mock.sendNotification({ event: 'media_exploded', site_id: SITE })).toHaveLength(1);
    expect(stage.mock.sendNotification({})).toHaveLength(2);
    await stage.mock.settled();
    expect(stage.receiver.received.map(({ body }) => Object.keys(body))).toEqual([
      ['event', 'webhook_id', 'site_id'],
      ['webhook_id'],
      ['webhook_id'],
    ]);
  });

  test('is refused, when it names a webhook that there is not', () => {
    expect(() => stage.mock.sendNotification(JSON.parse(REAL))).toThrow('there is no webhook 2yW4KmiG');
  });
});
