import { describe, expect, test } from '@jest/globals';
import { type FaultName, faultNames } from '../../../src/mock/index.ts';
import { keyOf, type Refusal, verifyNotification } from '../../../src/notification/token.ts';
import { SITE, useStage } from '../support/stage.ts';

const stage = useStage();
const A_DAY = 86_400_000;
const media = ['a', 'b', 'c', 'd', 'e', 'f'];

/** Six notifications, one a second, and whatever follows from them within a day. */
async function happen(): Promise<void> {
  for (const media_id of media) {
    stage.mock.sendNotification({ event: 'media_updated', media_id, site_id: SITE });
    await stage.mock.advance(1000);
  }
  await stage.mock.advance(A_DAY);
}

const receivedIds = () => stage.receiver.received.map(({ body }) => body.media_id);

describe('a fault', () => {
  test('befalls nothing, when none is set', async () => {
    stage.webhook();
    await happen();
    expect(receivedIds()).toEqual(media);
    expect(stage.mock.deliveries().flatMap(({ faults }) => faults)).toEqual([]);
  });

  test('drop keeps a notification from being sent, and logs it without an attempt', async () => {
    stage.webhook();
    stage.mock.setFaults({ drop: 1 });
    await happen();
    expect(receivedIds()).toEqual([]);
    expect(stage.mock.deliveries({ state: 'dropped', fault: 'drop' })).toHaveLength(6);
    expect(stage.mock.deliveries()[0]).toMatchObject({ state: 'dropped', attempts: [], faults: ['drop'] });
  });

  test('duplicate sends each notification twice, the very same text, within five seconds', async () => {
    stage.webhook();
    stage.mock.setFaults({ duplicate: 1 });
    await happen();
    expect(receivedIds().toSorted()).toEqual([...media, ...media].toSorted());
    expect(new Set(stage.receiver.received.map(({ text, token }) => text + token)).size).toBe(6);
    const [first, second] = stage.mock.deliveries();
    expect(first).toMatchObject({ faults: [], duplicate_of: null });
    expect(second).toMatchObject({ faults: ['duplicate'], duplicate_of: first?.id });
    for (const { attempts, created_at } of stage.mock.deliveries({ fault: 'duplicate' })) {
      expect(Date.parse(attempts[0]?.started_at ?? '') - Date.parse(created_at)).toBeLessThan(5000);
    }
  });

  test('reorder swaps neighbours, and loses none', async () => {
    stage.webhook();
    stage.mock.setFaults({ reorder: 1 });
    await happen();
    expect(receivedIds()).toEqual(['b', 'a', 'd', 'c', 'f', 'e']);
  });

  test('reorder sends a notification after five seconds, when none follows that could overtake it', async () => {
    stage.webhook();
    stage.mock.setFaults({ reorder: 1 });
    stage.mock.sendNotification({ event: 'media_updated', media_id: 'a', site_id: SITE });
    await stage.mock.advance(4999);
    expect(receivedIds()).toEqual([]);
    await stage.mock.advance(1);
    expect(receivedIds()).toEqual(['a']);
    await stage.mock.advance(A_DAY);
    expect(receivedIds()).toEqual(['a']);
  });

  test('delay sends each notification from one second to a minute late', async () => {
    stage.webhook();
    stage.mock.setFaults({ delay: 1 });
    await happen();
    expect(receivedIds().toSorted()).toEqual(media);
    for (const { attempts, created_at } of stage.mock.deliveries({ fault: 'delay' })) {
      const late = Date.parse(attempts[0]?.started_at ?? '') - Date.parse(created_at);
      expect(late).toBeGreaterThanOrEqual(1000);
      expect(late).toBeLessThan(60_000);
    }
  });

  test.each<[FaultName, Refusal]>([
    ['tamper', { reason: 'claims differ', path: '/media_id' }],
    ['forge', { reason: 'bad signature' }],
    ['alg_none', { reason: 'not HS256' }],
    ['wrong_secret', { reason: 'bad signature' }],
  ])('%s sends what does not verify, once, and says so in the log', async (fault, refusal) => {
    const { secret } = stage.webhook();
    stage.mock.setFaults({ [fault]: 1 });
    stage.receiver.answer = () => ({ status: 401 });
    await happen();
    expect(stage.receiver.received).toHaveLength(6);
    for (const { token, text, body } of stage.receiver.received) {
      expect(verifyNotification(token, Buffer.from(text), body, [keyOf(secret)])).toEqual(refusal);
    }
    const deliveries = stage.mock.deliveries({ fault, state: 'failed' });
    expect(deliveries.map(({ attempts, faults }) => [attempts.length, faults])).toEqual(
      media.map(() => [1, [fault]]),
    );
    expect(deliveries.map(({ notification }) => notification.media_id)).toEqual(media);
  });

  test('alg_none sends an unsigned token whose claims are the body', async () => {
    stage.webhook();
    stage.mock.setFaults({ alg_none: 1 });
    await happen();
    const { token, text } = stage.receiver.received[0] ?? { token: '', text: '' };
    const [header, claims, signature] = token
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString());
    expect([header, claims, signature]).toEqual(['{"alg":"none","typ":"JWT"}', text, '']);
  });

  test('tamper adds a member, when a notification names nothing that could be changed', async () => {
    stage.webhook();
    stage.mock.setFaults({ tamper: 1 });
    stage.mock.sendNotification({ event: 'media_updated' });
    await stage.mock.settled();
    expect(Object.keys(stage.receiver.received[0]?.body ?? {})).toEqual(['event', 'webhook_id', 'note']);
  });

  test('that spoils is shown as delivered, when a careless receiver takes it', async () => {
    stage.webhook();
    stage.mock.setFaults({ forge: 1 });
    await happen();
    expect(stage.mock.deliveries({ fault: 'forge', state: 'delivered' })).toHaveLength(6);
  });

  test('befalls a part of the notifications that is about its probability', async () => {
    stage.webhook();
    stage.mock.setFaults({ drop: 0.25 });
    for (let i = 0; i < 2000; i++) stage.mock.sendNotification({ event: 'media_updated', site_id: SITE });
    const dropped = stage.mock.deliveries({ fault: 'drop' }).length;
    expect(dropped).toBeGreaterThan(400);
    expect(dropped).toBeLessThan(600);
    await stage.mock.settled();
  });

  test('befalls the same notifications, when the seed is the same, whatever else is drawn', async () => {
    const run = async (noise: number) => {
      stage.mock.reset();
      stage.webhook();
      for (let i = 0; i < noise; i++) stage.mock.createMedia({ site_id: 'jsPxIVHl' });
      stage.mock.setFaults(Object.fromEntries(faultNames.map((name) => [name, 0.3])));
      await happen();
      return stage.mock.deliveries().map(({ faults, notification }) => [notification.media_id, faults]);
    };
    expect(await run(5)).toEqual(await run(0));
  });
});

describe('the probabilities', () => {
  test('are all told, when some are set, and the others stay', () => {
    stage.mock.setFaults({ drop: 0.1 });
    expect(stage.mock.setFaults({ duplicate: 0.5 })).toEqual({
      ...Object.fromEntries(faultNames.map((name) => [name, 0])),
      drop: 0.1,
      duplicate: 0.5,
    });
  });

  test('are refused, when they are none', () => {
    expect(() => stage.mock.setFaults({ drop: 1.5 })).toThrow('drop');
  });
});

describe('a redelivery', () => {
  test('sends the genuine notification, when a fault kept it away, and logs what it repeats', async () => {
    const { secret } = stage.webhook();
    stage.mock.setFaults({ tamper: 1, drop: 0 });
    stage.mock.sendNotification({ event: 'media_updated', media_id: 'a', site_id: SITE });
    await stage.mock.settled();
    const [first] = stage.mock.deliveries();
    stage.mock.redeliver(first?.id ?? '');
    await stage.mock.settled();
    const { token, text, body } = stage.receiver.received[1] ?? { token: '', text: '', body: {} };
    expect(body).toEqual(first?.notification);
    expect(verifyNotification(token, Buffer.from(text), body, [keyOf(secret)])).toBeUndefined();
    expect(stage.mock.deliveries()[1]).toMatchObject({
      redelivery_of: first?.id,
      faults: [],
      state: 'delivered',
    });
  });

  test('is refused, when there is no such delivery, or its webhook is no more', async () => {
    const { id } = stage.webhook();
    stage.mock.sendNotification({ event: 'media_updated', site_id: SITE });
    await stage.mock.settled();
    expect(() => stage.mock.redeliver('7')).toThrow('there is no delivery 7');
    stage.mock.deleteWebhook(id);
    expect(() => stage.mock.redeliver('1')).toThrow(`there is no webhook ${id}`);
  });
});
