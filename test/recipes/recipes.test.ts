import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { defineApp } from '../../src/index.ts';
import { announce } from '../../src/recipes/announce.ts';
import { liveBoard, type OnAir } from '../../src/recipes/live-board.ts';
import {
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { size } from '../support/sizes.ts';

const HISTORIES = { random: size({ small: 3, full: 1000 }), most: size({ small: 8, full: 400 }) };

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
  expect(() => liveBoard({ path: '/:x' })).toThrow('liveBoard: path must be like /board, not /:x');
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

const M = { media_id: 'UUhbHm6C' };
const FAR = new Date(Date.UTC(2026, 11, 24));
const LEAD_MS = 6 * 60_000;

/** Starts with these scheduled statuses, far ahead. */
const scheduling =
  (texts: readonly string[], ...kinds: ('media_available' | 'media_deleted')[]): Scenario<TestReceiver> =>
  async (start) => {
    const kit: TestReceiver = await start({ handlers: announce() });
    for (const text of texts) await kit.statuses.schedule({ status: text }, FAR);
    for (const kind of kinds) await kit.deliver(kind, M);
    return kit;
  };

async function begin(...args: Parameters<typeof scheduling>): Promise<TestReceiver> {
  const kit = await scheduling(...args)(testReceiver);
  await kit.settled();
  return kit;
}

/** The scheduled statuses of the user, the first one first: their texts, and how long from now. */
async function scheduled(kit: TestReceiver): Promise<[string, number][]> {
  const { statuses } = await kit.statuses.page();
  return statuses
    .toReversed()
    .map(({ params, scheduled_at }) => [params.text, Date.parse(scheduled_at ?? '') - kit.now()]);
}

test('the statuses about a media come forward, when it is available; the others stay', async () => {
  const texts = ['about another', 'Out now: UUhbHm6C!', 'about UUhbHm6CC', 'UUhbHm6C again'];
  await using kit = await begin(texts, 'media_available');
  const ahead = await scheduled(kit);
  for (const [text, ms] of ahead)
    if (/UUhbHm6C\b/.test(text)) expect(Math.abs(ms - LEAD_MS)).toBeLessThan(1000);
    else expect(ms).toBeGreaterThan(LEAD_MS * 10);
  expect(ahead.map(([text]) => text)).toEqual(texts);
});

test('each is cancelled, when the media is deleted, wherever the process dies and in whatever order', async () => {
  const texts = ['UUhbHm6C', 'about another', 'soon: UUhbHm6C'];
  const isRight = async (kit: TestReceiver) =>
    assert.deepEqual(
      (await scheduled(kit)).map(([text]) => text),
      ['about another'],
    );
  await everyCrash(scheduling(texts, 'media_available', 'media_deleted'), isRight);
  const happened = ['media_available', 'media_deleted'] as const;
  await matrix(
    happened.map((kind) => [kind, M]),
    scheduling(texts),
    isRight,
    HISTORIES,
  );
});

test('a media that no status is about is skipped, and so is one whose status is out soon anyway', async () => {
  await using kit = await begin([], 'media_available');
  const lastError = expect.stringContaining('no scheduled status is about it');
  expect(await kit.event()).toMatchObject({ status: 'skipped', lastError });
  await kit.statuses.schedule({ status: 'Out now: UUhbHm6C!' }, new Date(kit.now() + LEAD_MS - 30_000));
  await kit.deliver('media_available', M);
  await kit.settled();
  const out = expect.stringContaining('is published by then anyway');
  expect((await kit.events()).at(-1)).toMatchObject({ status: 'skipped', lastError: out });
});

test('without the statuses API the event is dead, with what to do', async () => {
  await using kit = await testReceiver({ handlers: announce(), statuses: false });
  await kit.deliver('media_available', M);
  await kit.settled();
  const lastError = 'set STATUSES_BASE_URL and STATUSES_TOKEN, and replay the event';
  expect(await kit.event()).toMatchObject({ status: 'dead', lastError });
});
