import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { ProviderError, StatusesClient } from '../../src/provider/index.ts';
import { announce } from '../../src/recipes/announce.ts';
import {
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { size } from '../support/sizes.ts';

const M = { media_id: 'UUhbHm6C' };
const FAR = new Date(Date.UTC(2026, 11, 24));
const HISTORIES = { random: size({ small: 6, full: 400 }), most: size({ small: 24, full: 400 }) };
const LEAD_MS = 6 * 60_000;

/** The scheduled statuses of the user, the first one first: their texts, and how long from now. */
async function scheduled(kit: TestReceiver) {
  const { statuses } = await kit.statuses.page();
  return statuses
    .toReversed()
    .map(({ params, scheduled_at }) => [params.text, Date.parse(scheduled_at ?? '') - kit.now()]);
}

const scheduling =
  (happened: readonly Happening[]): Scenario<undefined> =>
  async (start) => {
    const kits: TestReceiver[] = [];
    const kit = await start({ handlers: announce({ now: () => kits[0]?.now() ?? 0 }) });
    kits.push(kit);
    await kit.statuses.schedule({ status: `Out now: ${M.media_id}!` }, FAR);
    for (const [kind, members] of happened)
      await kit.deliver<'media_created'>(kind as 'media_created', members);
    return undefined;
  };

async function begin(): Promise<TestReceiver> {
  const kits: TestReceiver[] = [];
  const kit = await testReceiver({ handlers: announce({ now: () => kits[0]?.now() ?? 0 }) });
  kits.push(kit);
  return kit;
}

test('the status about a media comes forward, when the media is available; the others stay', async () => {
  await using kit = await begin();
  for (const text of ['about another', 'Out now: UUhbHm6C!', 'about UUhbHm6CC'])
    await kit.statuses.schedule({ status: text }, FAR);
  await kit.deliver('media_available', M);
  await kit.settled();
  const [first, second, third] = await scheduled(kit);
  expect(second).toEqual(['Out now: UUhbHm6C!', expect.any(Number)]);
  expect(Math.abs(Number(second?.[1]) - LEAD_MS)).toBeLessThan(1000);
  for (const one of [first, third]) expect(Number(one?.[1])).toBeGreaterThan(LEAD_MS * 10);
});

test('it is found among hundreds, over all pages, and the rate limit is waited for', async () => {
  await using kit = await begin();
  await kit.statuses.schedule({ status: 'Out now: UUhbHm6C!' }, FAR);
  // 25 a day is the most that may be scheduled.
  for (let number = 0; number < 90; number++)
    await kit.statuses.schedule(
      { status: `other ${number}` },
      new Date(FAR.getTime() + 86_400_000 * (1 + Math.floor(number / 20))),
    );
  await kit.deliver('media_available', M);
  await kit.settled();
  const lists = kit.statusesCalls.filter(({ method }) => method === 'GET');
  expect(lists.length).toBeGreaterThan(2);
  const moved = kit.statusesCalls.filter(({ method, status }) => method === 'PUT' && status === 200);
  expect(moved).toHaveLength(1);
  expect(await kit.event()).toMatchObject({ status: 'handled', attempts: 1 });
});

test('it is cancelled, when the media is deleted, wherever the process dies and in whatever order', async () => {
  const happened: Happening[] = [
    ['media_available', M],
    ['media_deleted', M],
  ];
  const none = async (kit: TestReceiver) => assert.deepEqual(await scheduled(kit), []);
  await everyCrash(scheduling(happened), none);
  await matrix(happened, scheduling([]), none, HISTORIES);
});

test('each of several is cancelled, when the media is deleted, wherever the process dies and at a replay', async () => {
  const three: Scenario<undefined> = async (start) => {
    const kit = await start({ handlers: announce() });
    for (const text of ['UUhbHm6C', 'about another', 'soon: UUhbHm6C', 'UUhbHm6C!'])
      await kit.statuses.schedule({ status: text }, FAR);
    await kit.deliver('media_deleted', M);
    await kit.deliver('media_deleted', { ...M, site_id: 'again' });
    return undefined;
  };
  await everyCrash(three, async (kit) =>
    assert.deepEqual(
      (await scheduled(kit)).map(([text]) => text),
      ['about another'],
    ),
  );
});

test('each of several comes forward, when the media is available, and none that is out is missed', async () => {
  await using kit = await begin();
  await kit.statuses.schedule({ status: 'UUhbHm6C' }, new Date(kit.now() + LEAD_MS - 30_000));
  for (const text of ['UUhbHm6C again', 'UUhbHm6C once more'])
    await kit.statuses.schedule({ status: text }, FAR);
  await kit.deliver('media_available', M);
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled' });
  for (const [, ahead] of await scheduled(kit)) expect(Number(ahead)).toBeLessThanOrEqual(LEAD_MS);
});

test('the others are cancelled, when the API refuses to cancel one, and the event is tried again', async () => {
  const { media_deleted } = announce();
  let refusals = 0;
  await using kit = await testReceiver({
    handlers: {
      media_deleted: (event, ctx) => {
        const { statuses } = ctx;
        if (!statuses) throw new Error('the kit has the client');
        const cancel = async (...[id, options]: Parameters<StatusesClient['cancel']>) => {
          if (refusals++ > 0) return statuses.cancel(id, options);
          const failure = {
            code: 'unprocessable',
            operation: 'DELETE',
            reason: 'not now',
            status: 422,
          } as const;
          throw new ProviderError({ ...failure, retryAfterMs: undefined }, 'Wait');
        };
        const once = { list: statuses.list.bind(statuses), cancel } as unknown as StatusesClient;
        return media_deleted(event, { ...ctx, statuses: once });
      },
    },
  });
  for (const text of ['UUhbHm6C', 'UUhbHm6C again', 'UUhbHm6C once more'])
    await kit.statuses.schedule({ status: text }, FAR);
  await kit.deliver('media_deleted', M);
  await kit.handled();
  expect(await scheduled(kit)).toHaveLength(1);
  await kit.settled();
  expect(await scheduled(kit)).toHaveLength(0);
  expect((await kit.attempts()).map(({ outcome }) => outcome)).toEqual(['error', 'handled']);
});

test.each(['not_found', 'too many'] as const)(
  'an event is tried again after a backoff, when the list is refused with %s',
  async (refusal) => {
    let lists = 0;
    const answer =
      refusal === 'not_found'
        ? () => new Response('{"error":"Not Found"}', { status: 404 })
        : () =>
            new Response('{"error":"Too many requests"}', { status: 429, headers: { 'Retry-After': '0' } });
    const statuses = new StatusesClient({
      baseUrl: 'https://social.test/api/v1',
      token: 'x',
      maxAttempts: 1,
      fetch: async () => (++lists < 4 ? answer() : new Response('[]')),
    });
    const { media_available } = announce();
    await using kit = await testReceiver({
      handlers: { media_available: (event, ctx) => media_available(event, { ...ctx, statuses }) },
    });
    await kit.deliver('media_available', M);
    await kit.settled();
    const attempts = await kit.attempts();
    const starts = attempts.map(({ startedAt }) => startedAt);
    const waits = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(waits.map((wait) => Math.round(wait / 250))).toEqual([3, 6, 12]);
    expect(attempts[0]?.error).not.toMatch(/published or cancelled/);
  },
);

test('it comes forward once, wherever the process dies', async () => {
  await everyCrash(scheduling([['media_available', M]]), async (kit) => {
    const [first, ...others] = await scheduled(kit);
    assert.deepEqual(others, []);
    assert.ok(Number(first?.[1]) <= LEAD_MS, `it is ${first?.[1]} ms ahead`);
  });
});

test('a media that no status is about is skipped, and so is one whose status is out soon anyway', async () => {
  await using kit = await begin();
  await kit.deliver('media_available', M);
  await kit.settled();
  expect(await kit.event()).toMatchObject({
    status: 'skipped',
    lastError: expect.stringContaining('no scheduled status is about it'),
  });
  await kit.statuses.schedule({ status: 'Out now: UUhbHm6C!' }, new Date(kit.now() + LEAD_MS - 30_000));
  await kit.deliver('media_available', M);
  await kit.settled();
  expect((await kit.events()).at(-1)).toMatchObject({
    status: 'skipped',
    lastError: expect.stringContaining('is out by then anyway'),
  });
});

test('without the statuses API the event is dead, with what to do', async () => {
  await using kit = await testReceiver({ handlers: announce(), statuses: false });
  await kit.deliver('media_available', M);
  await kit.settled();
  expect(await kit.event()).toMatchObject({
    status: 'dead',
    lastError: 'set STATUSES_BASE_URL and STATUSES_TOKEN, and replay the event',
  });
});
