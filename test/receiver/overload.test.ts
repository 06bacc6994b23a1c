import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { postText, type RawConnection, rawConnection } from '../support/raw-http.ts';
import { receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const numbered = (number: number) => notification({ media_id: `media${number}` });
const unavailable = () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'the disk /dev/sda1 is full'));

/** A store whose commits wait until they are released. */
function heldStore() {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const state = { waiting: 0, release };
  const wrap = (store: EventStore) =>
    storeWith(store, {
      async record(...given) {
        state.waiting++;
        await released;
        return store.record(...given);
      },
    });
  return { state, wrap };
}

describe('a store that cannot commit', () => {
  test('makes the answer 503 with Retry-After and nothing recorded, when a genuine notification comes', async () => {
    const { app, events } = await start({
      wrap: (store) => storeWith(store, { record: unavailable }),
    });
    const response = await deliver(app, notification());
    expect([response.status, response.body]).toEqual([503, { error: 'not recorded' }]);
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(await events()).toEqual([]);
  });

  test('makes the answer 503, when it cannot look for a secret that may have been stored a moment ago', async () => {
    let fails = false;
    const { app } = await start({
      wrap: (store) => storeWith(store, { secrets: () => (fails ? unavailable() : store.secrets()) }),
    });
    fails = true;
    expect((await deliver(app, notification(), 'perhaps new')).status).toBe(503);
    expect((await deliver(app, notification())).status).toBe(200); // what is known verifies all the same
  });

  test('is named in the log, when it cannot keep what belongs into quarantine, and the answer is 401 as ever', async () => {
    const { app, log } = await start({ wrap: (store) => storeWith(store, { quarantine: unavailable }) });
    expect((await deliver(app, notification(), 'not stored yet')).status).toBe(401);
    const lines = () => log.withMessage('a refused notification could not be kept in quarantine');
    await eventually('the log says so', () => lines().length === 1);
    expect(lines()).toMatchObject([{ level: 50, error: expect.any(String) }]);
  });

  test('does no lasting harm: once it commits again, the same notification is accepted with 200', async () => {
    let fails = true;
    const { app, events } = await start({
      wrap: (store) =>
        storeWith(store, { record: (...given) => (fails ? unavailable() : store.record(...given)) }),
      options: { maxWaitingAcks: 2 },
    });
    for (let count = 0; count < 5; count++) {
      const { status, body } = await deliver(app, notification());
      expect([status, body]).toEqual([503, { error: 'not recorded' }]); // failures leave no ack waiting
    }
    fails = false;
    expect((await deliver(app, notification())).body.status).toBe('accepted');
    expect(await events()).toHaveLength(1);
  });

  test('is named in the log as an error, when a notification was lost to it, and not to the sender', async () => {
    const { app, log } = await start({ wrap: (store) => storeWith(store, { record: unavailable }) });
    const { text } = await deliver(app, notification());
    expect(text).not.toContain('/dev/sda1');
    expect(log.withMessage('request failed')).toMatchObject([
      { level: 50, error: 'the disk /dev/sda1 is full' },
    ]);
  });

  test.each([new Error('a bug at /srv/app'), new KitError('STORE_UNUSABLE', 'another key at /srv/app')])(
    'makes the answer 500, when it fails for good or in a way that nobody foresaw: %s, and says no more',
    async (error) => {
      const { app } = await start({
        wrap: (store) => storeWith(store, { record: () => Promise.reject(error) }),
      });
      const response = await deliver(app, notification());
      expect([response.status, response.body]).toEqual([500, { error: 'internal error' }]);
    },
  );
});

describe('a store that is slow', () => {
  test('lets requests wait, when fewer wait than may, and acknowledges each once its commit is on disk', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap, options: { maxWaitingAcks: 10 } });
    let answered = 0;
    const waiting = [1, 2, 3].map((number) =>
      deliver(app, numbered(number)).then(({ status }) => {
        answered++;
        return status;
      }),
    );
    await eventually('three wait for their commit', () => state.waiting === 3);
    expect([answered, await events()]).toEqual([0, []]);
    state.release();
    expect(await Promise.all(waiting)).toEqual([200, 200, 200]);
    expect(await events()).toHaveLength(3);
  });

  test('makes the answer 503 with Retry-After, when as many wait as may, and 200 once they are through', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap, options: { maxWaitingAcks: 2 } });
    const waiting = [1, 2].map((number) => deliver(app, numbered(number)).then(({ status }) => status));
    await eventually('two wait for their commit', () => state.waiting === 2);
    const response = await deliver(app, numbered(3));
    expect([response.status, response.body]).toEqual([503, { error: 'overloaded' }]);
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(state.waiting).toBe(2);
    state.release();
    expect(await Promise.all(waiting)).toEqual([200, 200]);
    expect((await deliver(app, numbered(3))).status).toBe(200);
    expect(await events()).toHaveLength(3);
  });

  test('lets no more wait than may, when many are still sending their bodies, and answers the others 503', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap, options: { maxWaitingAcks: 2 } });
    const { port } = app.address() as AddressInfo;
    const senders = await Promise.all(Array.from({ length: 8 }, () => rawConnection(port)));
    const bodies = senders.map((_, number) => JSON.stringify(numbered(number)));
    for (const [index, sender] of senders.entries()) {
      const text = bodies[index] ?? '';
      const authorization = `Authorization: Bearer ${tokenOf(text, SECRET)}`;
      const headers = [authorization, `Content-Length: ${text.length}`, 'Expect: 100-continue'];
      sender.write(postText(PATH, headers));
    }
    const isIn = (sender: RawConnection) => sender.received().includes('100 Continue');
    await eventually('each may send its body', () => senders.every(isIn));
    for (const [index, sender] of senders.entries()) sender.write(bodies[index] ?? '');
    const refused = () => senders.filter((sender) => sender.received().includes(' 503 ')).length;
    await eventually('each waits or is refused', () => state.waiting + refused() === senders.length);
    const { waiting } = state;
    state.release();
    await Promise.all(senders.map(({ closed }) => closed));
    expect(await events()).toHaveLength(waiting);
    expect(waiting).toBe(2);
  });
});
