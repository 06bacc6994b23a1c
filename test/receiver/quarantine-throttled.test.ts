import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { admitQuarantined } from '../../src/receiver/admissions.ts';
import { BoundedLog } from '../../src/receiver/bounded-log.ts';
import { Quarantine } from '../../src/receiver/quarantine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, PATH, SECRET, sendWithToken } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { chunked, exchange, postText, statusOf } from '../support/raw-http.ts';
import { type ReceiverFixture, receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const LATE = 'a secret that is stored later';
const numbered = (count: number, members = {}) =>
  Array.from({ length: count }, (_, number) => notification({ media_id: `media-${number}`, ...members }));

const kept = (receiver: ReceiverFixture, count: number) =>
  eventually(`${count} are kept`, async () => (await receiver.store.quarantineSize()) === count);

/** The request for a text, signed with the late secret, whose body comes in these chunks. */
const inChunks = (text: string, ...chunks: readonly string[]) =>
  postText(
    PATH,
    [`Authorization: Bearer ${tokenOf(text, LATE)}`, 'Transfer-Encoding: chunked'],
    chunked(...chunks),
  );

/** Stores the late secret, and admits what it verifies. */
async function admitLate({ store, keyring, log }: ReceiverFixture, webhook = '2yW4KmiG'): Promise<number> {
  await store.addSecret(webhook, LATE);
  await keyring.refresh();
  return admitQuarantined({ store, keyring, log: log.log });
}

describe('a notification whose secret is stored later', () => {
  test('is kept, when its source is over its limit, with 401 and then 429, and all are admitted', async () => {
    const receiver = await start({ secrets: {}, options: { rejectLimit: 60 } });
    const statuses: number[] = [];
    for (const body of numbered(100)) statuses.push((await deliver(receiver.app, body, LATE)).status);
    expect(statuses).toEqual([...Array(60).fill(401), ...Array(40).fill(429)]);
    await kept(receiver, 100);
    expect(await admitLate(receiver)).toBe(100);
    expect(await receiver.events()).toHaveLength(100);
  });

  test('is kept, when all come at the same moment, whatever their answers are', async () => {
    const receiver = await start({ secrets: {}, options: { rejectLimit: 5 } });
    const answers = await Promise.all(numbered(30).map((body) => deliver(receiver.app, body, LATE)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    await kept(receiver, 30);
  });

  test('is kept, when forgeries from the same address came before, as behind a proxy that is not trusted', async () => {
    const receiver = await start({ secrets: {}, options: { rejectLimit: 60 } });
    const forgeries = [...numbered(40, { webhook_id: 'made up' }), ...numbered(40)];
    for (const body of forgeries) await deliver(receiver.app, body, 'forged');
    for (const body of numbered(20)) expect((await deliver(receiver.app, body, LATE)).status).toBe(429);
    await kept(receiver, 100);
    expect(await admitLate(receiver)).toBe(20);
  });

  test.each([
    [
      'its members stand in another order',
      JSON.stringify(Object.fromEntries(Object.entries(notification()).reverse())),
    ],
    ['its body has spaces', JSON.stringify(notification(), null, 2)],
    ['its body has escapes', JSON.stringify(notification()).replace('media_id', 'media\\u005fid')],
  ])('is kept as received, when its source is over its limit and %s', async (_what, text) => {
    const receiver = await start({ secrets: {}, options: { rejectLimit: 0 } });
    const token = tokenOf(JSON.stringify(notification()), LATE);
    const answer = await deliver(receiver.app, text, LATE).set('Authorization', `Bearer ${token}`);
    expect(answer.status).toBe(429);
    await kept(receiver, 1);
    expect((await receiver.store.quarantined())[0]).toMatchObject({ body: text, token });
  });

  test('is kept, when its source is over its limit and its body comes in chunks', async () => {
    const receiver = await start({ secrets: {}, options: { rejectLimit: 0 } });
    const text = JSON.stringify(notification());
    expect(statusOf(await exchange(receiver.app, inChunks(text, text.slice(0, 50), text.slice(50))))).toBe(
      429,
    );
    await kept(receiver, 1);
    expect(await admitLate(receiver)).toBe(1);
  });

  test('has a delivery for each time that it came, when it is admitted, throttled or not', async () => {
    const clock = new VirtualClock();
    const receiver = await start({ secrets: {}, options: { rejectLimit: 2, clock } });
    const body = notification();
    for (let count = 0; count < 5; count++) await deliver(receiver.app, body, LATE);
    await deliver(receiver.app, notification({ media_id: 'last' }), LATE);
    await kept(receiver, 2);
    expect(await admitLate(receiver)).toBe(2);
    const events = await receiver.events();
    expect(events.map(({ deliveries }) => deliveries)).toEqual([1, 5]);
  });

  test('is admitted, when its secret was found while it was on its way into the quarantine', async () => {
    let letGo = () => {};
    const waits = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const receiver = await start({
      secrets: {},
      wrap: (store) =>
        storeWith(store, {
          quarantine: async (...given) => {
            await waits;
            return store.quarantine(...given);
          },
        }),
    });
    const announced: string[] = [];
    receiver.keyring.onAdded = (webhooks) => announced.push(...webhooks);
    await deliver(receiver.app, notification(), LATE);
    expect(await admitLate(receiver)).toBe(0);
    announced.length = 0;
    letGo();
    await eventually('its webhook is told', () => announced.includes('2yW4KmiG'));
  });
});

describe('a source over its limit', () => {
  const forged = 'forged';
  const text = JSON.stringify(notification());
  test.each([
    ['differing claims', notification(), tokenOf(JSON.stringify({ ...notification(), iat: 1 }), forged)],
    ['HS512', notification(), tokenOf(text, forged, { header: { alg: 'HS512' }, hmac: 'HS512' })],
    ['a crit header', notification(), tokenOf(text, forged, { header: { alg: 'HS256', crit: ['x'] } })],
    ['a short signature', notification(), tokenOf(text, forged).slice(0, -1)],
    [
      'an unknown kind',
      notification({ event: 'other' }),
      tokenOf(JSON.stringify(notification({ event: 'other' })), forged),
    ],
    ['claims that the right secret signed, and another body', notification(), tokenOf('{}', SECRET)],
    ['no JSON in the token', notification(), `${tokenOf('x', forged)}`],
  ])('has nothing kept, when it sends %s', async (_what, body, token) => {
    const receiver = await start({ options: { rejectLimit: 0 } });
    await sendWithToken(receiver.app, body, token);
    await deliver(receiver.app, notification({ media_id: 'the last' }), forged);
    await eventually('the last is kept', async () => (await receiver.store.quarantineSize()) > 0);
    expect((await receiver.store.quarantined()).map(({ resource }) => resource)).toEqual(['media:the last']);
  });

  test('has no body in chunks read that is longer than its token can belong to', async () => {
    const receiver = await start({ options: { rejectLimit: 0, bodyLimit: 1_000_000 } });
    const text = JSON.stringify(notification());
    const pieces = Array.from({ length: 20 }, () => ' '.repeat(1000));
    const answer = await exchange(receiver.app, inChunks(text, text, ...pieces));
    expect(statusOf(answer)).toBe(429);
    expect(statusOf(await exchange(receiver.app, inChunks(text, text)))).toBe(429);
    await kept(receiver, 1);
    expect((await receiver.store.quarantined()).map(({ body }) => body)).toEqual([text]);
  });

  test('has its bodies in chunks read no more, when it has used up its allowance, and what came beyond is counted', async () => {
    let lost = 0;
    const options = { rejectLimit: 0, quarantineMaxBytes: 100_000_000, onQuarantineLost: () => lost++ };
    const receiver = await start({ secrets: {}, options });
    const texts = numbered(500).map((body) => JSON.stringify(body));
    for (const text of texts) await exchange(receiver.app, inChunks(text, text));
    await eventually('all are seen to', async () => (await receiver.store.quarantineSize()) + lost === 500);
    expect(lost).toBeGreaterThan(10);
    expect(await receiver.store.quarantineSize()).toBeGreaterThan(200);
  });

  test('has its bodies read no more, when it has sent its allowance for one webhook, and what came beyond is counted', async () => {
    let lost = 0;
    const options = { rejectLimit: 0, quarantineMaxBytes: 100_000_000, onQuarantineLost: () => lost++ };
    const receiver = await start({ secrets: {}, options });
    const title = 'x'.repeat(5000);
    for (const body of numbered(220, { title, webhook_id: 'flooded' }))
      await deliver(receiver.app, body, forged);
    await eventually('all are seen to', async () => (await receiver.store.quarantineSize()) + lost === 220);
    expect(lost).toBeGreaterThan(10);
    const before = await receiver.store.quarantineSize();
    for (const body of numbered(10)) await deliver(receiver.app, body, LATE); // of another webhook
    await kept(receiver, before + 10);
    const largest = await receiver.store.quarantineSize('flooded');
    expect(largest).toBeGreaterThan(100);
  });

  test('has an allowance again, when a minute has passed', async () => {
    const clock = new VirtualClock();
    const receiver = await start({
      secrets: {},
      options: { rejectLimit: 0, quarantineMaxBytes: 100_000_000, clock },
    });
    const title = 'x'.repeat(5000);
    for (const body of numbered(200, { title })) await deliver(receiver.app, body, LATE);
    const before = await receiver.store.quarantineSize();
    expect(before).toBeLessThan(200);
    await clock.advance(60_000);
    await deliver(receiver.app, notification(), LATE);
    await eventually(
      'it is kept',
      async () =>
        (await receiver.store.quarantined({ webhook: '2yW4KmiG', after: 1 })).length > 0 &&
        (await receiver.store.quarantineSize()) > before,
    );
  });

  test('leaves no memory behind to the garbage collection, when its body was examined, kept or not', async () => {
    const { store, keyring, log: lines } = await start({ secrets: {} });
    const clock = new VirtualClock();
    const { log } = lines;
    const quarantine = new Quarantine({
      store,
      keyring,
      clock,
      log,
      lines: new BoundedLog({ log, clock }),
      maxBytes: 100_000_000,
    });
    const large = JSON.stringify(notification({ title: 'x'.repeat(20_000) }));
    const contents = [large, 'x'.repeat(20_000)].map((text) => {
      const own = Buffer.allocUnsafeSlow(text.length); // not shared with others, like what comes from a connection
      own.write(text);
      return own;
    });
    for (const content of contents)
      quarantine.add({ token: tokenOf(large, LATE), content, source: '203.0.113.9' });
    await eventually('both are examined', () => contents.every(({ length }) => length === 0));
    await eventually('one is kept', async () => (await store.quarantineSize()) === 1);
    expect((await store.quarantined()).map(({ body }) => body)).toEqual([large]);
  });
});
