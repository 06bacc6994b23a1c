import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { VerifiedNotification } from '../../src/store/event-store.ts';
import { eventId, isEventId } from '../../src/store/stored.ts';
import { runs } from '../support/sizes.ts';
import { claimed, notified, recorded } from './desk.ts';
import { onEachEngine } from './stages.ts';

onEachEngine('record', (stage) => {
  test('accepts one of several that come with the same id, whichever process gets them, and counts all', async () => {
    const { store, clock } = stage;
    const one = notified();
    const other = await stage.another();
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => store.record(one)),
      ...Array.from({ length: 5 }, () => other.record(one)),
    ]);
    expect(answers.filter(({ status }) => status === 'accepted')).toHaveLength(1);
    await stage.pass(5000);
    const late = await other.record({ ...one, webhookId: 'webhook2' });
    expect(late).toEqual({ status: 'duplicate', id: one.id });
    const times = { receivedAt: clock.now() - 5000, lastDeliveryAt: clock.now() };
    expect(await store.event(one.id)).toMatchObject({ deliveries: 11, webhookId: 'webhook1', ...times });
  });

  test('takes a text with NUL and half surrogate pairs, finds it by that, and loses none that come with it', async () => {
    const odd = notified('media:odd', 0, {
      body: 'nul \0 half \ud800 end',
      kind: 'ki\0nd',
      siteId: '\udc00',
    });
    const others = [notified('media:a'), notified('media:b')];
    const answers = await Promise.all([odd, ...others].map((one) => stage.store.record(one)));
    expect(answers.map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted']);
    const [claim] = await claimed(stage.store, 'media:odd');
    expect(claim?.body).toMatch(/^nul . half . end$/su);
    expect(await stage.store.count({ kind: odd.kind })).toBe(1);
  });

  test('refuses one request that no column takes, and records what came with it', async () => {
    const bad = notified('media:bad', 0, { eventTime: 'a time that is none' as never });
    const good = [notified('media:a'), notified('media:b')];
    const [first, refused, last] = await Promise.allSettled(
      [good[0], bad, good[1]].map((one) => stage.store.record(one as VerifiedNotification)),
    );
    const isStrict = stage.isPostgres; // SQLite takes a text in a column of numbers
    expect(first).toMatchObject({ value: { status: 'accepted' } });
    expect(last).toMatchObject({ value: { status: 'accepted' } });
    expect(refused?.status).toBe(isStrict ? 'rejected' : 'fulfilled');
    if (isStrict) expect(await stage.store.event(bad.id)).toBeUndefined();
  });

  test("keeps each channel's state by its newest event, of one time the one received later", async () => {
    const { store } = stage;
    const of = (channel: string, state: string, seconds: number) =>
      notified(`channel:${channel}`, seconds, { kind: `channel_${state}` });
    const list = [of('a', 'active', 9), of('a', 'idle', 8), of('b', 'active', 5), of('b', 'idle', 5)];
    await Promise.all(list.map((one) => store.record(one)));
    await recorded(store, of('c', 'active', 1), of('c', 'idle', 2), notified('media:one', 99));
    expect(await store.channels({ limit: 10 })).toEqual({
      counts: { active: 1, idle: 2 },
      channels: [
        ['channel:a', 'active', list[0]?.id],
        ['channel:b', 'idle', list[3]?.id],
        ['channel:c', 'idle', expect.any(String)],
      ].map(([resource, state, event]) => expect.objectContaining({ resource, state, event })),
    });
    expect((await store.channels({ limit: 1, after: 'channel:a' })).channels).toMatchObject([
      { resource: 'channel:b' },
    ]);
  });
});

const times = fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 });
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });

test('an event id tells the time of its event and the start of the digest, fit for a URL and a file name', () => {
  const property = fc.property(times, digests, (eventTime, digest) => {
    const id = eventId(eventTime, digest);
    expect(isEventId(id)).toBe(true);
    const [, time = '', start] = /^(-?[0-9a-z]{1,11})-([0-9a-f]{20})$/.exec(id) ?? [];
    expect(Number.parseInt(time, 36)).toBe(eventTime);
    expect(Buffer.from(digest).toString('hex').startsWith(String(start))).toBe(true);
  });
  fc.assert(property, { numRuns: runs(1000) });
});

const hex = 'a'.repeat(20);
test.each(['', `0-${hex}a`, `0-${hex.slice(1)}`, `0-${'g'.repeat(20)}`, `0-${hex}\n`])(
  'an event id is not %j',
  (text) => expect(isEventId(text)).toBe(false),
);
