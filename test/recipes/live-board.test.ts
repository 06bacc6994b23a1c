import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { defineApp } from '../../src/index.ts';
import { liveBoard, type OnAir } from '../../src/recipes/live-board.ts';
import {
  everyCrash,
  type Happening,
  matrix,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { size } from '../support/sizes.ts';

const HISTORIES = { random: size({ small: 4, full: 1000 }), most: size({ small: 12, full: 200 }) };
const board = () => defineApp(liveBoard());

/** One channel ends on air, the other off air. */
const happened: Happening[] = [
  ['channel_active', { channel_id: 'Ny05CEfj' }],
  ['channel_active', { channel_id: 'other' }],
  ['channel_idle', { channel_id: 'Ny05CEfj' }],
  ['channel_active', { channel_id: 'Ny05CEfj' }],
  ['channel_idle', { channel_id: 'other' }],
];

async function onAir(kit: TestReceiver): Promise<OnAir[]> {
  const { status, body } = await kit.page('/app/board.json');
  assert.equal(status, 200);
  return JSON.parse(body).on_air;
}

async function isRight(kit: TestReceiver): Promise<void> {
  const channels = (await onAir(kit)).map(({ channel_id }) => channel_id);
  assert.deepEqual(channels, ['Ny05CEfj']);
}

test('channels are on the board while they are on air, the longest first', async () => {
  await using kit = await testReceiver({ app: board() });
  expect((await kit.page('/app/board')).body).toContain('No channel is on air.');
  for (const channel_id of ['second', 'third']) await kit.deliver('channel_active', { channel_id });
  await kit.deliver('channel_active', { channel_id: 'first', event_time: '2025-12-31T23:00:00Z' });
  await kit.deliver('channel_idle', { channel_id: 'second' });
  await kit.settled();
  expect(await onAir(kit)).toMatchObject([
    { channel_id: 'first', site_id: kit.site, since: '2025-12-31T23:00:00Z' },
    { channel_id: 'third' },
  ]);
});

test('the page takes nothing of a notification for HTML, and its path must lead somewhere', async () => {
  expect(() => liveBoard({ path: '/:x' })).toThrow('liveBoard: /:x is no path such as /board');
  await using kit = await testReceiver({ app: defineApp(liveBoard({ path: '/live' })) });
  await kit.deliver('channel_active', { channel_id: `<script>"it's"&` });
  await kit.settled();
  const { body } = await kit.page('/app/live');
  expect(body).toContain('<td>&#60;script&#62;&#34;it&#39;s&#34;&#38;</td>');
  expect((await kit.page(/href="([^"]+\.css)"/.exec(body)?.[1] ?? '')).status).toBe(200);
});

test('the board is right, wherever the process dies, in whatever order notifications come, and however often', async () => {
  await everyCrash(async (start) => {
    const kit = await start({ app: board() });
    for (const [kind, members] of happened)
      await kit.deliver<'channel_active'>(kind as 'channel_active', members);
  }, isRight);
  await matrix(happened, async (start) => void (await start({ app: board() })), isRight, HISTORIES);
});
