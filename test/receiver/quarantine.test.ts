import { describe, expect, test } from '@jest/globals';
import { kindNames } from '../../src/notification/kinds.ts';
import { admitQuarantined } from '../../src/receiver/admissions.ts';
import type { EventStore, Quarantined } from '../../src/store/event-store.ts';
import { toVerified } from '../../src/store/verified.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, SECRET, sendWithToken } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { only } from '../support/only.ts';
import { type ReceiverFixture, receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const body = notification();
const text = JSON.stringify(body);
const admit = ({ store, keyring, log }: ReceiverFixture) =>
  admitQuarantined({ store, keyring, log: log.log });

/** What is kept, once all that was refused before is seen to: one after the other, and this one is the last. */
async function keptIn({ app, store }: ReceiverFixture): Promise<readonly Quarantined[]> {
  const last = JSON.stringify(notification({ media_id: 'the last' }));
  await deliver(app, last, 'not stored yet');
  const isLast = ({ body }: Quarantined) => body === last;
  await eventually('the last is kept', async () => (await store.quarantined()).some(isLast));
  return (await store.quarantined()).filter((entry) => !isLast(entry));
}

const isKept = ({ store }: ReceiverFixture) =>
  eventually('it is kept', async () => (await store.quarantined()).length === 1);

describe('a refused notification', () => {
  test('is kept, when it is well-formed and no secret of its webhook verifies it, though the answer is 401', async () => {
    const receiver = await start();
    expect((await deliver(receiver.app, text, 'not stored yet')).status).toBe(401);
    expect(only(await keptIn(receiver))).toMatchObject({
      token: tokenOf(text, 'not stored yet'),
      body: text,
      webhookId: body.webhook_id,
      kind: 'media_available',
      source: expect.stringMatching(/127\.0\.0\.1$/),
    });
    expect(await receiver.events()).toEqual([]);
  });

  test.each(kindNames)('is kept, when its webhook has no secret at all, for %s too', async (event) => {
    const receiver = await start({ secrets: {} });
    const whole = notification({ event, thumbnail_id: 'th1', track_id: 'tr1', channel_id: 'ch1' });
    expect((await deliver(receiver.app, whole, 'not stored yet')).status).toBe(401);
    expect(await keptIn(receiver)).toMatchObject([{ kind: event }]);
  });

  const forged = 'forged';
  test.each([
    ['its claims differ', body, tokenOf(JSON.stringify({ ...body, iat: 1 }), forged)],
    ['it is of HS512', body, tokenOf(text, forged, { header: { alg: 'HS512' }, hmac: 'HS512' })],
    ['it says HS512', body, tokenOf(text, forged, { header: { alg: 'HS512' } })],
    ['its signature is too short', body, tokenOf(text, forged).slice(0, -1)],
    ['it is unsigned', body, tokenOf(text, forged, { header: { alg: 'none' } }).replace(/[^.]+$/, '')],
    ['it has a crit header', body, tokenOf(text, forged, { header: { alg: 'HS256', crit: ['x'] } })],
    ['its header is ambiguous', body, tokenOf(text, forged, { header: '{"alg":"HS256","alg":"HS256"}' })],
    ['it is no token', body, 'x'],
    ['its header is padded', body, tokenOf(text, forged).replace('.', '=.')],
    [
      'its kind is unknown',
      notification({ event: 'other' }),
      tokenOf(JSON.stringify(notification({ event: 'other' })), forged),
    ],
    [
      'it misses a member',
      notification({ media_id: undefined }),
      tokenOf(JSON.stringify(notification({ media_id: undefined })), forged),
    ],
    [
      'its time is no time',
      notification({ event_time: 'now' }),
      tokenOf(JSON.stringify(notification({ event_time: 'now' })), forged),
    ],
  ])('is not kept, when %s, with 401', async (_what, sent, token) => {
    const receiver = await start();
    expect((await sendWithToken(receiver.app, sent, token)).status).toBe(401);
    expect(await keptIn(receiver)).toEqual([]);
  });

  test('is not kept, when it can never verify as its parts are padded, though no secret is known, with 401', async () => {
    const receiver = await start({ secrets: {} });
    expect((await sendWithToken(receiver.app, body, tokenOf(text, forged).replace('.', '=.'))).status).toBe(
      401,
    );
    expect(await keptIn(receiver)).toEqual([]);
  });

  test('is not kept, when the right secret signed it and only its claims differ, with 401', async () => {
    const receiver = await start();
    expect((await sendWithToken(receiver.app, body, tokenOf('{}', SECRET))).status).toBe(401);
    expect(await keptIn(receiver)).toEqual([]);
  });

  test('is kept once, when it comes again with the same token', async () => {
    const receiver = await start();
    await deliver(receiver.app, text, forged);
    await deliver(receiver.app, text, forged);
    expect(await keptIn(receiver)).toHaveLength(1);
  });

  test('is never kept beyond the maximum, when many sources send many', async () => {
    const quarantineMaxBytes = 8000;
    const { app, store } = await start({ options: { quarantineMaxBytes, trustProxy: 1 } });
    const genuine = notification({ media_id: 'waits for its secret' });
    await deliver(app, genuine, 'late secret').set('X-Forwarded-For', '192.0.2.1');
    for (let count = 0; count < 12; count++) {
      const flood = notification({ media_id: `m${count}` });
      await deliver(app, flood, forged).set('X-Forwarded-For', `203.0.113.${count}`);
      const seenTo = async () => (await store.overview()).quarantineLost + (await store.quarantined()).length;
      await eventually('it is kept, or something is lost for it', async () => (await seenTo()) === count + 2);
      const sizes = (await store.quarantined()).map(({ bytes }) => bytes);
      expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(quarantineMaxBytes);
    }
    const kept = (await store.quarantined()).map((entry) => entry.body);
    expect(kept.length).toBeGreaterThan(3);
    expect(kept.length).toBeLessThan(12);
    expect(kept).toContain(JSON.stringify(genuine)); // those who flood push out their own
  });

  test('is not kept, when the maximum is 0, with 401', async () => {
    const asked: string[] = [];
    const wrap = (store: EventStore) =>
      storeWith(store, {
        quarantine(...given) {
          asked.push(given[0].body);
          return store.quarantine(...given);
        },
      });
    const none = await start({ options: { quarantineMaxBytes: 0 }, wrap });
    const some = await start({ options: { quarantineMaxBytes: 100_000 }, wrap });
    for (const { app } of [none, some]) expect((await deliver(app, text, forged)).status).toBe(401);
    await eventually('the other keeps it', async () => (await some.store.quarantined()).length === 1);
    expect(await none.store.quarantined()).toEqual([]);
    expect(asked).toEqual([text]);
  });
});

/** Larger than the server of these tests takes it. */
async function keepLarge(store: Pick<EventStore, 'quarantine'>, members: object): Promise<void> {
  const body = { ...members, title: 'x'.repeat(50_000) };
  const whole = JSON.stringify(body);
  const token = tokenOf(whole, 'late secret');
  const { isKept } = await store.quarantine(
    { ...toVerified(JSON.parse(whole), whole), token, source: '::1' },
    100_000_000,
  );
  expect(isKept).toBe(true);
}

describe('a notification in quarantine', () => {
  test('is admitted, once its secret is stored, as received and when it was received', async () => {
    const receiver = await start({ secrets: {} });
    const { app, store, keyring, clock, events } = receiver;
    await deliver(app, text, 'late secret');
    await isKept(receiver);
    const receivedAt = only(await store.quarantined()).receivedAt;
    await clock.advance(3_600_000);
    await store.addSecret('2yW4KmiG', 'late secret');
    await keyring.refresh();
    expect(await admit(receiver)).toBe(1);
    expect(only(await events())).toMatchObject({ body: text, receivedAt, status: 'pending', deliveries: 1 });
    expect(await store.quarantined()).toEqual([]);
    expect((await deliver(app, text, 'late secret')).body.status).toBe('duplicate');
  });

  test('stays, when the stored secret does not verify it or is of another webhook', async () => {
    const receiver = await start({ secrets: {} });
    const { app, store, keyring, events } = receiver;
    await deliver(app, text, 'late secret');
    await isKept(receiver);
    await store.addSecret('2yW4KmiG', 'another secret');
    await store.addSecret('another webhook', 'late secret');
    await keyring.refresh();
    expect(await admit(receiver)).toBe(0);
    expect(await store.quarantined()).toHaveLength(1);
    expect(await events()).toEqual([]);
  });

  test('is read for webhooks that have a key alone, and page by page, when much waits', async () => {
    const { store, keyring, log, events } = await start({ secrets: {} });
    const many = 60;
    for (const webhook_id of ['with-a-key', 'without']) {
      for (let count = 0; count < many; count++) {
        await keepLarge(store, notification({ webhook_id, media_id: `m${count}` }));
      }
    }
    await store.addSecret('with-a-key', 'late secret');
    await keyring.refresh();
    const pages: (string | undefined)[] = [];
    const watched = storeWith(store, {
      quarantined: (page) => {
        pages.push(page?.webhook);
        return store.quarantined(page);
      },
    });
    expect(await admitQuarantined({ store: watched, keyring, log: log.log })).toBe(many);
    expect(pages.length).toBeGreaterThan(3);
    expect(new Set(pages)).toEqual(new Set(['with-a-key']));
    expect(await events()).toHaveLength(many);
    expect(await store.quarantineSize('without')).toBe(many);
  });

  test('continues where it ended, when an admission ends half-way', async () => {
    const { store, keyring, log, events } = await start({ secrets: {} });
    for (let count = 0; count < 30; count++) {
      await keepLarge(store, notification({ media_id: `m${count}` }));
    }
    await store.addSecret('2yW4KmiG', 'late secret');
    await keyring.refresh();
    let pages = 0;
    const failing = storeWith(store, {
      quarantined: (page) => (pages++ < 2 ? store.quarantined(page) : Promise.reject(new Error('it ends'))),
    });
    await expect(admitQuarantined({ store: failing, keyring, log: log.log })).rejects.toThrow('it ends');
    const { length } = await events();
    expect(length).toBeGreaterThan(0);
    expect(await admitQuarantined({ store, keyring, log: log.log })).toBe(30 - length);
    expect((await events()).map(({ deliveries }) => deliveries)).toEqual(Array(30).fill(1));
  });

  test('is a duplicate, when the same event came genuinely in between, and leaves the quarantine', async () => {
    const receiver = await start();
    const { app, store, keyring, events } = receiver;
    await deliver(app, text, 'late secret');
    await isKept(receiver);
    await deliver(app, text, SECRET);
    await store.addSecret('2yW4KmiG', 'late secret');
    await keyring.refresh();
    expect(await admit(receiver)).toBe(1);
    expect(only(await events()).deliveries).toBe(2);
    expect(await store.quarantined()).toEqual([]);
  });
});
