import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { handlers } from '../../src/demo/handlers.ts';
import { KINDS, kindNames } from '../../src/notification/kinds.ts';
import { type TestReceiver, testReceiver } from '../../src/testing/index.ts';

let kit: TestReceiver;
beforeEach(async () => {
  kit = await testReceiver({ handlers });
});
afterEach(() => kit.stop());

const logged = (message: string) => kit.log().filter(({ msg }) => msg === message);

test('each kind ends as handled and the log says what happened to what; an unknown kind ends as skipped', async () => {
  expect(Object.keys(handlers).toSorted()).toEqual(kindNames.toSorted());
  for (const kind of kindNames) {
    const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `${name}-of-${kind}`]));
    const { id } = await kit.deliver(kind, ids);
    await kit.settled();
    expect(await kit.event(id)).toMatchObject({ kind, status: 'handled', attempts: 1 });
    const lines = JSON.stringify(kit.log());
    for (const value of Object.values(ids)) expect(lines).toContain(value);
  }
  const { notification } = await kit.event((await kit.events())[0]?.id);
  const unknown = await kit.deliverBody({ ...notification, event: 'media_archived' });
  await kit.settled();
  const lastError = 'unknown kind "media_archived"';
  expect(await kit.event(unknown.id)).toMatchObject({ status: 'skipped', lastError });
});

test('a channel keeps its newer state, when the older one comes late', async () => {
  const state = (kind: 'channel_active' | 'channel_idle', minute: string) =>
    kit.deliver(kind, { channel_id: 'c1', event_time: `2024-08-29T03:${minute}:00+00:00` });
  await state('channel_idle', '05');
  await kit.settled();
  const { id } = await state('channel_active', '00');
  await kit.settled();
  const lastError = 'a newer state of channel c1 is known';
  expect(await kit.event(id)).toMatchObject({ status: 'skipped', lastError });
  expect(kit.log().flatMap(({ state: shown }) => shown ?? [])).toEqual(['idle']);
});

test('a media is announced once with one result, when the rest of the handler fails', async () => {
  kit.failNext();
  await kit.deliver('media_available');
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled', attempts: 2 });
  const results = logged('media is announced').map(({ announcedAt }) => announcedAt);
  expect([results.length, new Set(results).size]).toEqual([2, 1]);
  expect(logged('media can be published: announcing it')).toHaveLength(1);
});
