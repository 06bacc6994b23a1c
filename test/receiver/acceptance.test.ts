import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { kindNames } from '../../src/notification/kinds.ts';
import { deliver, notification, SECRET, send, WEBHOOK } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { jsonObject, shuffled } from '../support/json-values.ts';
import { only } from '../support/only.ts';
import { receiverForAllTests, receiversForEachTest } from '../support/receiver-fixture.ts';
import { runs } from '../support/sizes.ts';

const start = receiversForEachTest();
const shared = receiverForAllTests();

describe('a genuine notification', () => {
  test.each(kindNames)('of %s, with its members, is recorded with 200', async (event) => {
    const { app, store } = shared();
    const body = notification({ event, thumbnail_id: 'th1', track_id: 'tr1', channel_id: 'ch1' });
    const answer = (await deliver(app, body)).body;
    expect(answer.status).toBe('accepted');
    expect(await store.queue.event({ id: answer.id })).toMatchObject({
      kind: event,
      webhookId: WEBHOOK,
      siteId: 'jsPxIVHl',
      resource: event.startsWith('channel') ? 'channel:ch1' : 'media:UUhbHm6C',
      eventTime: Date.UTC(2023, 10, 14, 22, 30, 10),
      body: JSON.stringify(body),
      status: 'pending',
      deliveries: 1,
      attempts: 0,
    });
  });

  test('is recorded as received, when its members come in another order and spacing than in the claims, and is a duplicate of that', async () => {
    const { app, events } = await start();
    const body = notification({ nested: { b: [1, { d: 1, c: 2 }], a: null } });
    const text = JSON.stringify(body);
    const received = JSON.stringify(shuffled(body), null, 2);
    const { id } = (await send(app, received, `Bearer ${tokenOf(text, SECRET)}`)).body;
    expect((await deliver(app, text)).body).toEqual({ status: 'duplicate', id });
    expect(only(await events()).body).toBe(received);
  });

  test('is a duplicate, when another webhook with its own secret told of it before', async () => {
    const { app, events } = await start({ secrets: { one: ['secret one'], two: ['secret two'] } });
    const { id } = (await deliver(app, notification({ webhook_id: 'one' }), 'secret one')).body;
    const again = await deliver(app, notification({ webhook_id: 'two' }), 'secret two');
    expect(again.body).toEqual({ status: 'duplicate', id });
    expect(only(await events())).toMatchObject({ webhookId: 'one', deliveries: 2 });
  });
});

describe('a genuine notification that the specification does not know', () => {
  test('is accepted, whatever JSON its members are, with 200 and kept to the letter', async () => {
    const { app, store } = await start();
    await fc.assert(
      fc.asyncProperty(jsonObject, async (members) => {
        const body = JSON.stringify({ ...members, webhook_id: WEBHOOK });
        const answer = await deliver(app, body);
        expect(answer.status).toBe(200);
        expect(JSON.parse((await store.queue.event({ id: answer.body.id }))?.body ?? '')).toEqual(
          JSON.parse(body),
        );
      }),
      { numRuns: runs(60) },
    );
  });

  test('is accepted, when its members are long or cannot be stored, with labels that can', async () => {
    const { app, events } = await start();
    const long = 'x'.repeat(2000);
    await deliver(app, notification({ event: long, site_id: long, media_id: long }));
    expect(only(await events())).toMatchObject({
      kind: 'x'.repeat(200),
      siteId: 'x'.repeat(200),
      resource: expect.stringMatching(/^event:/),
    });
    await deliver(app, notification({ event: 'a\u0000b', site_id: '\ud83d', media_id: '\u0007' }));
    expect((await events()).find(({ kind }) => kind === 'a\ufffdb')).toMatchObject({ siteId: '\ufffd' });
  });
});
