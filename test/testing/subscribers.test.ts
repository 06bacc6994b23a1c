import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { defineApp, type HandlerContext, type Handlers } from '../../src/index.ts';
import {
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';

const MEDIA = 'UUhbHm6C';

/** An app whose handlers for media_available are these, by the names of their subscribers; '' is main. */
function appOf(work: Record<string, (ctx: HandlerContext) => unknown>) {
  const handlersOf = (does: (ctx: HandlerContext) => unknown): Handlers => ({
    media_available: async (_event, ctx) => void (await does(ctx)),
  });
  const { '': main = () => {}, ...others } = work;
  const subscribers = Object.entries(others).map(([name, does]) => [name, { handlers: handlersOf(does) }]);
  return defineApp({ handlers: handlersOf(main), subscribers: Object.fromEntries(subscribers) });
}

const endsOf = async (kit: TestReceiver) =>
  Object.fromEntries(
    (await kit.events({ subscriber: 'all' })).map((event) => [event.subscriber, event.status]),
  );

test('each subscriber handles what is delivered, with an id, attempts and state of its own', async () => {
  const seen: string[] = [];
  const note = (ctx: HandlerContext) => {
    seen.push(`${ctx.subscriber} ${ctx.id}`);
    ctx.state.set('by', ctx.subscriber);
    if (ctx.subscriber === 'mail' && ctx.attempt < 3) throw new Error('busy');
  };
  const app = appOf({ '': note, search: note, mail: note });
  await using kit = await testReceiver({ app });
  const { id } = await kit.deliver('media_available', { media_id: MEDIA });
  await kit.handled();
  expect(seen.toSorted()).toEqual([` ${id}`, `mail ${id}@mail`, `search ${id}@search`].toSorted());
  expect(await endsOf(kit)).toEqual({ '': 'handled', search: 'handled', mail: 'pending' });
  await kit.settled();
  expect(seen).toHaveLength(5);
  expect([await kit.event(), await kit.event('mail')]).toMatchObject([
    { id, status: 'handled', attempts: 1 },
    { id: `${id}@mail`, status: 'handled', attempts: 3 },
  ]);
  expect([await kit.events(), await kit.events({ subscriber: 'search' })]).toMatchObject([
    [{ id }],
    [{ id: `${id}@search` }],
  ]);
  expect((await kit.attempts(`${id}@mail`)).map(({ outcome }) => outcome)).toEqual([
    'error',
    'error',
    'handled',
  ]);
  const resource = `media:${MEDIA}`;
  expect([await kit.state(resource), await kit.state(resource, 'mail')]).toEqual([
    { by: '' },
    { by: 'mail' },
  ]);
  expect(await kit.replay({ subscriber: 'search' })).toBe(1);
  await kit.settled();
  expect(seen.slice(5)).toEqual([`search ${id}@search`]);
});

test('a subscriber that is not of the app is named', async () => {
  await using kit = await testReceiver({ app: appOf({ search: () => {} }) });
  const told = 'the app has no subscriber serach';
  await expect(kit.state('media:M', 'serach')).rejects.toThrow(told);
  await expect(kit.events({ subscriber: 'serach' })).rejects.toThrow(told);
  await expect(kit.replay({ subscriber: 'serach' })).rejects.toThrow(told);
  await expect(kit.event('serach')).rejects.toThrow(told);
});

test('a failure and a crash come to the subscriber that they are meant for', async () => {
  const ran: string[] = [];
  const charge = (ctx: HandlerContext) => ctx.once('charge', () => void ran.push(ctx.subscriber));
  await using kit = await testReceiver({ app: appOf({ '': charge, search: charge, mail: charge }) });
  kit.failNext('search');
  kit.crashAt('charge@mail', 'between');
  await kit.deliver('media_available');
  await kit.settled();
  await kit.restart();
  await kit.settled();
  expect(ran.toSorted()).toEqual(['', 'mail', 'mail', 'search']);
  const of = async (which?: string) => (await kit.attempts(which)).map(({ outcome }) => outcome).join();
  expect(await of('search')).toMatch(/error,handled$/);
  expect(await of('mail')).toBe('lost,handled');
  expect(await kit.steps('mail')).toEqual({ charge: undefined });
});

test('what a subscriber leaves behind, and a failure that does not come to it, are told with its name', async () => {
  const kit = await testReceiver({ app: appOf({ search: () => void sleep(5) }) });
  await kit.deliver('media_available');
  await expect(kit.settled()).rejects.toThrow('the handler of media_available@search does not await');
  kit.failNext('search');
  await expect(kit.stop()).rejects.toThrow('failNext: no handler of search has run since');
});

test('a crash that breaks what one subscriber does is found', async () => {
  const scenario = async (start: typeof testReceiver) => {
    const mails: string[] = [];
    const app = appOf({
      '': (ctx) => ctx.once('page', () => {}),
      search: () => {},
      mail: (ctx) => void mails.push(ctx.id),
    });
    const kit = await start({ app });
    await kit.deliver('media_available');
    return mails;
  };
  const once = (_kit: TestReceiver, mails: readonly string[]) => assert.equal(mails.length, 1);
  await expect(everyCrash(scenario, once)).rejects.toThrow(/^a crash .* breaks the check\.\n/);
  const only = 'before settle media_available@mail';
  await expect(everyCrash(scenario, once, { only })).rejects.toThrow(`a crash ${only} breaks the check.`);
});

type Boards = Map<string, string>;
const CHANNEL = { channel_id: 'c' };
const ON_AIR: readonly Happening[] = [
  ['channel_active', CHANNEL],
  ['channel_idle', CHANNEL],
];

/** Each subscriber has a board. @param isNews whether an event may change it */
function boardsOf(isNews: (ctx: HandlerContext, at: string) => boolean) {
  const scenario: Scenario<Boards> = async (start) => {
    const boards: Boards = new Map();
    const show = (event: { event: string; event_time: string }, ctx: HandlerContext) => {
      if (isNews(ctx, event.event_time)) boards.set(ctx.subscriber, event.event);
    };
    const handlers: Handlers = { channel_active: show, channel_idle: show };
    const subscribers = { search: { handlers }, captions: { handlers } };
    await start({ app: defineApp({ handlers, subscribers }) });
    return boards;
  };
  return scenario;
}

/** By event time, which is right. */
function isNewest(ctx: HandlerContext, at: string): boolean {
  if (String(ctx.state.get('newest') ?? '') > at) return false;
  ctx.state.set('newest', at);
  return true;
}

const areIdle = (_kit: unknown, boards: Boards) =>
  assert.deepEqual([...new Set(boards.values())], ['channel_idle'], `${[...boards.entries()].join(' ')}`);

test.each(['', 'search', 'captions'])('a mistake about order in "%s" only is found', async (wrong) => {
  const isNews = (ctx: HandlerContext, at: string) => ctx.subscriber === wrong || isNewest(ctx, at);
  const found = matrix(ON_AIR, boardsOf(isNews), areIdle);
  await expect(found).rejects.toThrow(`this history breaks the check:

  const kit = await testReceiver(options);
  await kit.deliver('channel_idle', { event_time: '2026-01-01T00:00:01+00:00', channel_id: 'c' });
  await kit.handled();
  await kit.deliver('channel_active', { event_time: '2026-01-01T00:00:00+00:00', channel_id: 'c' });
  await kit.settled();
  // and your check
`);
});

test('a mistake of one subscriber that takes a failure is found, as a test to paste', async () => {
  const isNews = (ctx: HandlerContext, at: string) =>
    ctx.subscriber === 'captions' ? !ctx.late : isNewest(ctx, at);
  const told = await matrix(ON_AIR, boardsOf(isNews), areIdle).then(String, String);
  expect(told).toContain("\n  kit.failNext('all');\n");
});
