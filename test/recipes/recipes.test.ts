import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { defineApp, retry } from '../../src/index.ts';
import { announce } from '../../src/recipes/announce.ts';
import { forward, keyBytesOf, signatureOf } from '../../src/recipes/forward.ts';
import { liveBoard, type OnAir } from '../../src/recipes/live-board.ts';
import { type OverdueOptions, overdue } from '../../src/recipes/overdue.ts';
import {
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  type Start,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { scripted } from '../provider/support.ts';
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

const CRASHES = {
  random: size({ small: 0, full: 20 }),
  most: size({ small: 1, full: 20 }),
  crashes: 'every',
} as const;
const CREATED: Happening = ['media_created', M];

/** An app that tells of media that are not available half an hour after their upload, and whom it has told of. */
function telling(options: Partial<OverdueOptions<'media_created', unknown>> = {}) {
  const told: string[] = [];
  const late = overdue({
    after: 'media_created',
    want: 'media_available',
    within: '30m',
    onOverdue: ({ media_id }) => void told.push(media_id),
    ...options,
  });
  return { app: defineApp({ handlers: {}, subscribers: { overdue: late } }), told };
}

test('a media that is late is told of once, when its time is over, and not again by a replay', async () => {
  const { app, told } = telling();
  await using kit = await testReceiver({ app });
  await kit.deliver('media_created', M);
  await kit.deliver('media_created', { media_id: 'in time' });
  await kit.handled();
  await kit.advance('20m');
  await kit.deliver('media_available', { media_id: 'in time' });
  await kit.advance('9m');
  expect(told).toEqual([]);
  await kit.advance('2m');
  expect(told).toEqual(['UUhbHm6C']);
  await kit.replay();
  await kit.advance('2h');
  await kit.replay({ kind: 'reminder' });
  await kit.advance('2h');
  expect(told).toEqual(['UUhbHm6C']);
});

test('a media that is available or deleted in time is not told of, in whatever order notifications come', async () => {
  for (const end of ['media_available', 'media_deleted'] as const)
    for (const options of [HISTORIES, CRASHES])
      await matrix(
        [CREATED, [end, M]],
        async (start) => {
          const at: number[] = [];
          const { app } = telling({ within: '3d', onOverdue: (_, ctx) => void at.push(ctx.now()) });
          await start({ app });
          return at;
        },
        async (kit, at) => {
          const [ended] = await kit.events({ kind: end, subscriber: 'overdue' });
          expect(at.filter((told) => told > Number(ended?.receivedAt))).toEqual([]);
        },
        options,
      );
});

test('a media that begins again after its end is waited for again, also where that end comes later', async () => {
  const happened: Happening[] = [
    ['media_reuploaded', M],
    ['media_available', M],
    ['media_reuploaded', M],
  ];
  const scenario = async (start: Start) => {
    const told = new Set<string>();
    const late = overdue({
      after: 'media_reuploaded',
      want: 'media_available',
      within: '3d',
      onOverdue: ({ event_time }) => void told.add(event_time),
    });
    await start({ app: defineApp({ handlers: {}, subscribers: { overdue: late } }) });
    return told;
  };
  const isLast = (_kit: unknown, told: ReadonlySet<string>) =>
    expect([...told].at(-1)).toBe('2026-01-01T00:00:02+00:00');
  for (const options of [HISTORIES, CRASHES]) await matrix(happened, scenario, isLast, options);
});

test('`unless` is asked when the time is over, and onOverdue may end as every handler', async () => {
  let starts = 0;
  const { app } = telling({
    unless: ({ media_id }) => media_id === 'planned',
    onOverdue: () => (++starts < 3 ? retry({ after: 60_000, reason: 'nobody is there' }) : undefined),
  });
  await using kit = await testReceiver({ app });
  for (const media_id of ['planned', 'late']) await kit.deliver('media_created', { media_id });
  await kit.handled();
  await kit.advance('40m');
  expect(starts).toBe(3);
  const ends = await kit.events({ kind: 'reminder', subscriber: 'overdue' });
  expect(ends.map(({ resource, status }) => `${resource} ${status}`).toSorted()).toEqual([
    'media:late handled',
    'media:planned skipped',
  ]);
});

test('a `within` that is no length of time is refused', () => {
  expect(() => telling({ within: 'soon' })).toThrow('overdue: within must be a time such as 30m, not soon');
});

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** What becomes of an event that another system answers so, then with 204, and how long the second attempt waited. */
async function forwarded(status: number, headers: Record<string, string>) {
  const { url } = await scripted([status, {}, headers], [204]);
  await using kit = await testReceiver({ handlers: forward({ url, secret: SECRET }) });
  await kit.deliver('media_available');
  await kit.settled();
  const [first, second] = await kit.attempts();
  return { event: await kit.event(), first, waited: (second?.startedAt ?? 0) - (first?.startedAt ?? 0) };
}

test('every notification goes on, of kinds that nobody knows too, signed, with its id', async () => {
  const example = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}';
  expect(signatureOf(example, keyBytesOf(SECRET))).toBe('g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  const { url, got } = await scripted([204]);
  await using kit = await testReceiver({ handlers: forward({ url, secret: SECRET }) });
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  const ids = { webhook_id: 'any', site_id: 's' };
  await kit.deliverBody({ event: 'media_invented', ...ids, event_time: '2026-01-01T00:00:00Z' });
  await kit.settled();
  const bodies = got.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)] as const);
  const events = (await kit.events()).map(({ id, notification }) => [id, notification] as const);
  expect(new Map(bodies)).toEqual(new Map(events));
  for (const { headers, body } of got) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    expect(headers['webhook-signature']).toBe(`v1,${signatureOf(signed, keyBytesOf(SECRET))}`);
  }
});

test.each([
  [429, '7200', 7_200_000],
  [503, 'Thu, 01 Jan 2026 03:00:00 GMT', 10_800_000],
  [408, '0', 750],
  [500, 'soon', 750],
])('an answer of %i with a Retry-After of %s is tried again after %i ms', async (status, header, waits) => {
  const { event, first, waited } = await forwarded(status, { 'Retry-After': header });
  expect(event).toMatchObject({ status: 'handled', starts: 2, attempts: 1 });
  expect(first).toMatchObject({ outcome: 'retry', error: `the other system answered ${status}` });
  expect(Math.abs(waited - waits)).toBeLessThan(1000);
});

test.each([302, 400, 401, 410])('an answer of %s is the end of it', async (status) => {
  const lastError = `the other system answered ${status}`;
  expect((await forwarded(status, { Location: '/elsewhere' })).event).toMatchObject({
    status: 'dead',
    attempts: 1,
    lastError,
  });
});

test.each([
  ['ftp://x.test', SECRET, 'url must be an http or https URL'],
  ['https://user:hunter2@x.test/hook', SECRET, 'without a user name and password'],
  ['https://x.test', 'whsec_short', 'secret must be whsec_'],
])('options that cannot be used are refused without being shown: %s and %s', (wrongUrl, secret, message) => {
  const make = () => forward({ url: wrongUrl, secret });
  expect(make).toThrow(message);
  expect(make).not.toThrow(/MfKQ9|hunter2/);
});
