import { describe, expect, test } from '@jest/globals';
import type { Delivery, FaultName } from '../../src/mock/index.ts';
import { keyOf, type Refusal, verifyNotification } from '../../src/notification/token.ts';
import type { Received } from '../support/receiver.ts';
import { SITE, useStage } from './support/stage.ts';

const A_DAY = 86_400_000;
const attempted: Delivery[] = [];
const stage = useStage({
  timeoutMs: 500,
  maxAttempts: 4,
  onAttempt: (delivery) => attempted.push(delivery),
});
const happen = () => stage.mock.createChannel({ site_id: SITE });
const latest = () => stage.mock.deliveries().at(-1);
const bodies = () => stage.receiver.received.map(({ body }) => body);
const verify = ({ token, text, body }: Received, secret: string) =>
  verifyNotification(token, { text, value: body }, [keyOf(secret)]);

describe('a delivery', () => {
  test('is a POST of JSON whose claims are the very text, when something happens, and is in the log', async () => {
    stage.receiver.answer = () => ({ status: 503, body: 'x'.repeat(10_000) });
    const { id, secret } = stage.webhook({ webhook_url: `${stage.receiver.url}?a=b` });
    const { channel_id } = happen();
    await stage.mock.settled();
    const [request] = stage.receiver.received;
    if (!request) throw new Error('nothing came');
    const [header, claims] = request.token
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString());
    expect([request.method, header, claims]).toEqual(['POST', '{"alg":"HS256","typ":"JWT"}', request.text]);
    expect(verify(request, secret)).toBeUndefined();
    const at = '2026-01-01T00:00:00.000Z';
    const event_time = '2026-01-01T00:00:00+00:00';
    const headers = {
      Authorization: `Bearer ${request.token}`,
      'Content-Type': 'application/json',
      'Content-Length': String(request.text.length),
      'User-Agent': 'webhook-receiver-kit-mock',
    };
    expect(stage.mock.deliveries()).toEqual([
      {
        id: '1',
        webhook_id: id,
        state: 'pending',
        faults: [],
        duplicate_of: null,
        redelivery_of: null,
        created_at: at,
        next_attempt_at: '2026-01-01T00:00:01.000Z',
        notification: { event: 'channel_created', channel_id, webhook_id: id, site_id: SITE, event_time },
        attempts: [
          {
            number: 1,
            started_at: at,
            duration_ms: 0,
            request: { method: 'POST', url: `${stage.receiver.url}?a=b`, headers, body: request.text },
            answer: { status: 503, body: 'x'.repeat(4096) },
            error: null,
          },
        ],
      },
    ]);
  });

  test('goes to each webhook that matches, with its own webhook_id under its own secret', async () => {
    const webhooks = [stage.webhook(), stage.webhook({ site_ids: ['jsPxIVHl', SITE] })];
    stage.webhook({ site_ids: ['jsPxIVHl'] });
    happen();
    await stage.mock.settled();
    expect(bodies().map(({ webhook_id }) => webhook_id)).toEqual(webhooks.map(({ id }) => id));
    const refusals = stage.receiver.received.map((one, i) => verify(one, webhooks[i]?.secret ?? ''));
    expect(refusals).toEqual([undefined, undefined]);
  });
});

test.each([
  ['names its webhook, whatever that one listens to', { n: [1, { a: null }], iat: 5, webhook_id: 'ID' }, 1],
  ['names no webhook: each that matches', { event: 'media_updated', media_id: 'm', site_id: SITE }, 1],
  ['is of an unknown kind: each of its site', { event: 'media_exploded', site_id: SITE }, 2],
  ['has no site: each', {}, 3],
])('any payload is sent as it is, when it %s', async (_when, payload, count) => {
  const { id } = stage.webhook();
  stage.webhook({ events: [] });
  stage.webhook({ events: [], site_ids: ['jsPxIVHl'] });
  const sent = JSON.parse(JSON.stringify(payload).replace('"ID"', `"${id}"`));
  expect(stage.mock.sendNotification(sent)).toHaveLength(count);
  await stage.mock.settled();
  expect(bodies()).toHaveLength(count);
  expect(bodies()[0]).toEqual({ ...sent, webhook_id: id });
});

describe('an attempt', () => {
  test.each([
    [204, 'delivered', [0]],
    [307, 'failed', [0, 1000, 3000, 7000]],
    [503, 'failed', [0, 1000, 3000, 7000]],
  ])('answered %d ends as %s, after attempts with backoff at %j ms', async (status, state, times) => {
    attempted.length = 0;
    stage.receiver.answer = () => ({ status, headers: { Location: stage.receiver.url } });
    stage.webhook();
    happen();
    const begun = stage.mock.now();
    await stage.mock.advance(A_DAY);
    expect(latest()).toMatchObject({ state, next_attempt_at: null });
    expect(latest()?.attempts.map(({ started_at }) => Date.parse(started_at) - begun)).toEqual(times);
    expect(new Set(stage.receiver.received.map(({ text, token }) => text + token)).size).toBe(1);
    expect(attempted.map((one) => [one.state, one.attempts.length])).toEqual(
      times.map((_, i) => [i + 1 < times.length ? 'pending' : state, i + 1]),
    );
  });

  test('ends after its time-out, when no answer comes, and counts as that long on a virtual clock', async () => {
    stage.receiver.answer = (number) => (number === 1 ? undefined : { status: 200 });
    stage.webhook();
    happen();
    await stage.mock.advance(1499);
    const timedOut = { answer: null, error: 'no answer within 0.5 s', duration_ms: 500 };
    const next_attempt_at = new Date(stage.mock.now() + 1).toISOString();
    expect(latest()).toMatchObject({ attempts: [timedOut], next_attempt_at });
    await stage.mock.advance(1);
    expect(latest()?.state).toBe('delivered');
  });
});

describe('a fault', () => {
  const media = ['a', 'b', 'c', 'd', 'e', 'f'];
  /** Six notifications, one a second, and whatever follows from them within a day. */
  async function six(faults: Partial<Record<FaultName, number>>): Promise<unknown[]> {
    if (stage.mock.listWebhooks().length === 0) stage.webhook();
    stage.mock.setFaults(faults);
    for (const media_id of media) {
      stage.mock.sendNotification({ event: 'media_updated', media_id, site_id: SITE });
      await stage.mock.advance(1000);
    }
    await stage.mock.advance(A_DAY);
    return bodies().map(({ media_id }) => media_id);
  }
  const lateness = (fault: FaultName) =>
    stage.mock
      .deliveries({ fault })
      .map(({ attempts, created_at }) => Date.parse(attempts[0]?.started_at ?? '') - Date.parse(created_at));

  test('drop keeps a notification from being sent, and logs it without an attempt', async () => {
    expect(await six({ drop: 1 })).toEqual([]);
    expect(stage.mock.deliveries({ fault: 'drop' })).toHaveLength(6);
    expect(latest()).toMatchObject({ state: 'dropped', attempts: [], faults: ['drop'] });
  });

  test('duplicate sends each notification twice, the very same text, within five seconds', async () => {
    expect((await six({ duplicate: 1 })).toSorted()).toEqual([...media, ...media].toSorted());
    expect(new Set(stage.receiver.received.map(({ text, token }) => text + token)).size).toBe(6);
    expect(stage.mock.deliveries()[1]).toMatchObject({ faults: ['duplicate'], duplicate_of: '1' });
    expect(Math.max(...lateness('duplicate'))).toBeLessThan(5000);
  });

  test('reorder swaps neighbours and loses none, also the last, which follows after five seconds', async () => {
    expect(await six({ reorder: 1 })).toEqual(['b', 'a', 'd', 'c', 'f', 'e']);
    stage.mock.sendNotification({ event: 'media_updated', media_id: 'g', site_id: SITE });
    await stage.mock.advance(4999);
    expect(bodies()).toHaveLength(6);
    await stage.mock.advance(1);
    expect(bodies().at(-1)).toMatchObject({ media_id: 'g' });
  });

  test('delay sends each notification from one second to a minute late', async () => {
    expect((await six({ delay: 1 })).toSorted()).toEqual(media);
    expect(Math.min(...lateness('delay'))).toBeGreaterThanOrEqual(1000);
    expect(Math.max(...lateness('delay'))).toBeLessThan(60_000);
  });

  test('reformat sends what verifies, with another header and white space in its token', async () => {
    const { secret } = stage.webhook();
    expect(await six({ reformat: 1 })).toEqual(media);
    expect(stage.receiver.received.map((one) => verify(one, secret))).toEqual(media.map(() => undefined));
    const [{ token = '', text = '' } = {}] = stage.receiver.received;
    const [header, claims = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
    expect(header).toBe('{"typ": "JWT", "alg": "HS256"}');
    expect([claims.length > text.length, JSON.stringify(JSON.parse(claims))]).toEqual([true, text]);
    expect(latest()).toMatchObject({ faults: ['reformat'], state: 'delivered' });
  });

  test.each<[FaultName, Refusal]>([
    ['tamper', { reason: 'claims differ', path: '/media_id' }],
    ['forge', { reason: 'bad signature' }],
    ['alg_none', { reason: 'not HS256' }],
    ['wrong_secret', { reason: 'bad signature' }],
  ])('%s sends what does not verify, once, and a redelivery what does', async (fault, refusal) => {
    const { id, secret } = stage.webhook();
    stage.receiver.answer = (number) => ({ status: number < 6 ? 401 : 200 });
    await six({ [fault]: 1 });
    expect(stage.receiver.received.map((one) => verify(one, secret))).toEqual(media.map(() => refusal));
    const logged = stage.mock.deliveries({ fault });
    expect(logged.map(({ state }) => state)).toEqual([...Array(5).fill('failed'), 'delivered']);
    expect(logged.map(({ notification }) => notification.media_id)).toEqual(media);
    const { id: again } = stage.mock.redeliver('1');
    await stage.mock.settled();
    const [last] = stage.receiver.received.slice(-1);
    expect([last?.body.media_id, last && verify(last, secret)]).toEqual(['a', undefined]);
    expect(latest()).toMatchObject({ id: again, redelivery_of: '1', faults: [], state: 'delivered' });
    expect(() => stage.mock.redeliver('99')).toThrow('there is no delivery 99');
    stage.mock.deleteWebhook(id);
    expect(() => stage.mock.redeliver('1')).toThrow(`there is no webhook ${id}`);
  });
});
