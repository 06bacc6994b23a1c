import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { admissionsOf } from '../../src/receiver/quarantine.ts';
import type { EventStore, Quarantined } from '../../src/store/event-store.ts';
import { toVerified } from '../../src/store/stored.ts';
import { deliver, notification, SECRET, sendWithToken, WEBHOOK } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { only } from '../support/only.ts';
import {
  type ReceiverFixture,
  receiversForEachTest,
  storeWith,
  withStore,
} from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const LATE = 'a secret that is stored later';
const FULL =
  'notifications for which no secret is known are lost: the quarantine is full, they come too fast for it, or the store fails';
const body = notification();
const text = JSON.stringify(body);

/** What is kept, once everything that was refused before is seen to. */
async function keptIn({ quarantine, store }: ReceiverFixture): Promise<readonly Quarantined[]> {
  await quarantine.stop();
  return store.quarantine.entries();
}

/** Keeps notifications for a webhook. */
async function keep(store: EventStore, count: number, webhook_id = WEBHOOK, secret = LATE): Promise<void> {
  for (let number = 0; number < count; number++) {
    const whole = JSON.stringify(notification({ webhook_id, media_id: `m${number}` }));
    const entry = { ...toVerified(JSON.parse(whole), whole), token: tokenOf(whole, secret), source: '::1' };
    await store.quarantine.add(entry, 1_000_000);
  }
}

describe('a refused notification', () => {
  const kinds = ['media_available', 'channel_idle'];
  test.each(kinds)('is kept, when no known secret explains its signature: %s', async (event) => {
    const receiver = await start({ secrets: event.startsWith('media') ? { [WEBHOOK]: [SECRET] } : {} });
    const whole = notification({ event, thumbnail_id: 'th1', track_id: 'tr1', channel_id: 'ch1' });
    expect((await deliver(receiver.app, whole, LATE)).status).toBe(401);
    expect(only(await keptIn(receiver))).toMatchObject({
      token: tokenOf(JSON.stringify(whole), LATE),
      body: JSON.stringify(whole),
      kind: event,
      webhookId: WEBHOOK,
      source: expect.stringMatching(/127\.0\.0\.1$/),
      deliveries: 1,
    });
    expect(await receiver.events()).toEqual([]);
  });

  const withHeader = (header: object) => tokenOf(text, LATE, { header });
  const signed = (members: object): [object, string] => {
    const changed = notification({ ...members });
    return [changed, tokenOf(JSON.stringify(changed), LATE)];
  };
  test.each<[what: string, body: object, token: string]>([
    ['its claims differ', body, tokenOf(JSON.stringify({ ...body, iat: 1 }), LATE)],
    ['it is of HS512', body, tokenOf(text, LATE, { header: { alg: 'HS512' }, hmac: 'HS512' })],
    ['it has a crit header', body, withHeader({ alg: 'HS256', crit: ['x'] })],
    ['its claims are no JSON', body, tokenOf('{', LATE)],
    ['the right secret signed other claims', body, tokenOf('{}', SECRET)],
    ['it misses a member', ...signed({ media_id: undefined })],
    ['it is over 8 KiB', ...signed({ title: 'x'.repeat(8192) })],
  ])('is not kept, when %s, with 401', async (_what, sent, token) => {
    const receiver = await start();
    expect((await sendWithToken(receiver.app, sent, token)).status).toBe(401);
    expect(await keptIn(receiver)).toEqual([]);
  });

  test('is kept with all its deliveries, when it comes again, from a throttled source as well', async () => {
    const receiver = await start({ secrets: {}, env: { REJECT_LIMIT: '2' } });
    const statuses = [];
    for (let count = 0; count < 4; count++) statuses.push((await deliver(receiver.app, body, LATE)).status);
    expect(statuses).toEqual([401, 401, 429, 429]);
    expect(only(await keptIn(receiver)).deliveries).toBe(4);
  });

  test('is never kept beyond QUARANTINE_MAX_BYTES, and what is lost is counted and told', async () => {
    const receiver = await start({ env: { QUARANTINE_MAX_BYTES: '5000' } });
    for (let count = 0; count < 12; count++)
      await deliver(receiver.app, notification({ media_id: `m${count}` }), LATE);
    const { length } = await keptIn(receiver);
    expect(length).toBeGreaterThan(1);
    expect(length).toBeLessThan(12);
    expect(await receiver.store.reports.overview()).toMatchObject({
      quarantined: length,
      quarantineLost: 12 - length,
    });
    expect(receiver.log.withMessage(FULL)[0]).toMatchObject({ level: 'warn', lost: expect.any(Number) });
  });

  test('is lost beyond a thousand that wait for a store that hangs, which is counted at most once a second', async () => {
    const clock = new VirtualClock();
    const counted: number[] = [];
    const held = Promise.withResolvers<number>();
    const hung = { add: () => held.promise, countLost: async ({ n }: { n: number }) => void counted.push(n) };
    const { quarantine, log } = await start({ clock, ...withStore({ quarantine: hung }) });
    const refused = { token: tokenOf(text, LATE), body: { text, value: JSON.parse(text) } };
    for (let count = 0; count < 1500; count++) quarantine.add(refused, '::1');
    await clock.advance(999);
    expect(counted).toEqual([]);
    await clock.advance(1);
    expect(counted).toEqual([500]);
    expect(log.withMessage(FULL)).toMatchObject([{ lost: 500 }]);
    held.resolve(0);
    await quarantine.stop();
  });
});

describe('a notification in quarantine', () => {
  test('stays, when the stored secret does not verify it, or is of another webhook', async () => {
    const { store, keyring, events } = await start({ secrets: { [WEBHOOK]: ['another'], other: [LATE] } });
    await keep(store, 3);
    expect(await admissionsOf(store, keyring).admit()).toBe(0);
    expect(await store.quarantine.size()).toBe(3);
    expect(await events()).toEqual([]);
  });

  test('is admitted with WEBHOOK_SECRET, when more than 500 webhooks with more entries are not', async () => {
    const { store, keyring } = await start({ secrets: {}, env: { WEBHOOK_SECRET: SECRET } });
    for (let number = 0; number <= 500; number++) await keep(store, 2, `forged${number}`);
    await keep(store, 1, 'genuine', SECRET);
    expect(await admissionsOf(store, keyring).admit()).toBe(1);
    expect(await store.quarantine.size({ webhook: 'genuine' })).toBe(0);
  });

  test('is admitted at once, when the keyring has found its secret before the store has kept it', async () => {
    const wrap = (store: EventStore) =>
      storeWith(store, {
        quarantine: {
          async add(...given) {
            await store.secrets.add(WEBHOOK, LATE);
            await receiver.keyring.refresh();
            return store.quarantine.add(...given);
          },
        },
      });
    const receiver = await start({ secrets: {}, wrap });
    expect((await deliver(receiver.app, body, LATE)).status).toBe(401);
    expect(await keptIn(receiver)).toEqual([]);
    expect(await receiver.events()).toHaveLength(1);
  });

  test('is admitted with all others of its webhook, page by page', async () => {
    const { store, keyring, events } = await start({ secrets: { [WEBHOOK]: [LATE] } });
    await keep(store, 120);
    await keep(store, 2, 'without a secret');
    expect(await admissionsOf(store, keyring).admit(WEBHOOK)).toBe(120);
    expect((await events()).map(({ deliveries }) => deliveries)).toEqual(Array(120).fill(1));
    expect(await store.quarantine.size()).toBe(2);
  });
});

test('nothing is kept, when QUARANTINE_MAX_BYTES is 0, nor counted as lost', async () => {
  const receiver = await start({ env: { QUARANTINE_MAX_BYTES: '0' } });
  await deliver(receiver.app, body, LATE);
  expect(await keptIn(receiver)).toEqual([]);
  expect(await receiver.store.reports.overview()).toMatchObject({ quarantined: 0, quarantineLost: 0 });
});
