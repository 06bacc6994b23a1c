import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { z } from 'zod';
import { defineApp, defineHandlers, type HandlerContext, type Handlers } from '../../src/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import {
  type Happening,
  type KitOptions,
  matrix,
  type Scenario,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MEDIA = 'UUhbHm6C';

/** Handlers of all kinds that note what they get. */
function noting() {
  const seen: string[] = [];
  const note = (event: { event: string }) => void seen.push(event.event);
  const handlers = Object.fromEntries([...kindNames, 'unknown'].map((kind) => [kind, note])) as Handlers;
  return { seen, handlers };
}

test('a receiver under test handles what is delivered to it, once, and knows it when it comes again', async () => {
  const { seen, handlers } = noting();
  await using kit = await testReceiver({ handlers });
  const taken = await kit.deliver('media_available', { media_id: MEDIA });
  expect(taken).toEqual({ status: 'accepted', id: (await kit.event()).id });
  expect(await kit.event()).toMatchObject({ status: 'pending', attempts: 0 });
  await kit.settled();
  expect(await kit.duplicate()).toEqual({ ...taken, status: 'duplicate' });
  await kit.settled();
  expect(seen).toEqual(['media_available']);
  expect(await kit.event()).toMatchObject({
    status: 'handled',
    attempts: 1,
    deliveries: 2,
    resource: `media:${MEDIA}`,
    notification: { event: 'media_available', media_id: MEDIA, site_id: kit.site },
  });
});

test('a receiver under test keeps steps and state, and forgets what is in memory, over a crash between a step and its storing', async () => {
  const ran: string[] = [];
  const handlers = () => {
    const inMemory: string[] = [];
    return defineHandlers({
      async media_available(event, ctx) {
        expect(inMemory.splice(0)).toEqual(ctx.replay ? ['a run'] : []);
        inMemory.push('a run');
        await ctx.once('first', () => void ran.push('first'));
        const sum = await ctx.once('second', () => ran.push('second'));
        ctx.state.set('sum', sum);
        ctx.log.info({ media: event.media_id }, 'done');
      },
    });
  };
  await using kit = await testReceiver({ handlers });
  kit.crashAt('second', 'between');
  await kit.deliver('media_available', { media_id: MEDIA });
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'running' });
  expect(await kit.steps()).toEqual({ first: undefined });
  await expect(kit.deliver('media_updated')).rejects.toThrow(
    'the receiver has crashed, or was stopped: restart()',
  );
  await kit.restart();
  await kit.settled();
  expect(ran).toEqual(['first', 'second', 'second']);
  expect(await kit.event()).toMatchObject({ status: 'handled', starts: 2 });
  expect((await kit.attempts()).map(({ outcome }) => outcome)).toEqual(['lost', 'handled']);
  expect(await kit.steps()).toEqual({ first: undefined, second: 3 });
  expect(await kit.state(`media:${MEDIA}`)).toEqual({ sum: 3 });
  expect(kit.log().filter(({ msg }) => msg === 'done')).toMatchObject([{ media: MEDIA, attempt: 2 }]);
  expect(await kit.replay({ kind: 'media_deleted' })).toBe(0);
  expect(await kit.replay({ resource: `media:${MEDIA}` })).toBe(1);
  await kit.handled();
  expect(ran.length).toBe(3);
  expect(await kit.replay({}, { resetSteps: true })).toBe(1);
  await kit.settled();
  expect(ran.slice(3)).toEqual(['first', 'second']);
  expect((await kit.attempts()).filter(({ outcome }) => outcome === 'handled')).toHaveLength(3);
});

test('a receiver under test delivers every kind with members of its own', async () => {
  const { seen, handlers } = noting();
  await using kit = await testReceiver({ handlers });
  for (const kind of kindNames) await kit.deliver(kind);
  await kit.deliverBody({
    event: 'media_invented',
    webhook_id: 'any',
    site_id: 's',
    event_time: '2026-01-01T00:00:00Z',
  });
  await kit.settled();
  expect(seen.toSorted()).toEqual([...kindNames, 'media_invented'].toSorted());
  expect((await kit.events()).map(({ status }) => status)).toEqual(Array(14).fill('handled'));
});

test('a receiver under test says what it refuses, and what it cannot do', async () => {
  await using kit = await testReceiver({ handlers: {} });
  await expect(kit.event()).rejects.toThrow('there is no event');
  await expect(kit.duplicate()).rejects.toThrow('nothing to deliver again');
  await expect(kit.deliverBody('{"event":')).rejects.toThrow('the receiver answered 400');
  for (const time of ['soon', '-5m', -1, Number.NaN])
    await expect(kit.advance(time)).rejects.toThrow(`${time} is no time`);
  await expect(kit.state(MEDIA)).rejects.toThrow(`${MEDIA} is no resource: give media:ID`);
  await expect(kit.outOfOrder([['media_created']], [1])).rejects.toThrow('no notification at place 1');
  await kit.deliver('media_created');
  await kit.deliver('media_updated');
  await expect(kit.event()).rejects.toThrow('there are 2 events');
  await expect(kit.event('mjuohs00-a2e8bec396bcc7428c8a')).rejects.toThrow('there is no event mju');
});

test('notifications that arrive out of order are late', async () => {
  const late: boolean[] = [];
  const note = (_event: object, ctx: HandlerContext) => void late.push(ctx.late);
  await using kit = await testReceiver({ handlers: { channel_active: note, channel_idle: note } });
  await kit.outOfOrder([['channel_active'], ['channel_idle']]);
  expect(late).toEqual([false, true]);
});

test('a handler that waits for real things is waited for, and one that hangs at a retry has its time-out', async () => {
  let aborted: unknown;
  const handlers: Handlers = {
    async media_created() {
      await new Promise((resolve) => setTimeout(resolve, 40));
    },
    async media_updated(_event, ctx) {
      if (ctx.attempt === 1) throw new Error('busy');
      if (ctx.attempt > 2) return;
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      aborted = ctx.signal.reason;
    },
  };
  await using kit = await testReceiver({ handlers, patienceMs: 200 });
  await kit.deliver('media_created');
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled', attempts: 1 });
  await kit.deliver('media_updated');
  await expect(kit.settled()).rejects.toThrow(
    "the handler of media_updated has not ended in 200 ms: if it should wait for its time-out, call kit.advance('1h') before",
  );
  await kit.advance('1h');
  expect(aborted).toMatchObject({ name: 'TimeoutError' });
  await kit.settled();
  const [, updated] = await kit.events();
  expect(updated).toMatchObject({ status: 'handled', attempts: 3 });
  expect((await kit.attempts(updated?.id)).map(({ outcome, durationMs }) => [outcome, durationMs])).toEqual([
    ['error', 0],
    ['timeout', 30_000],
    ['handled', 0],
  ]);
});

test('the provider delivers what its verbs bring about, retries and forgeries included', async () => {
  const { seen, handlers } = noting();
  await using kit = await testReceiver({ handlers });
  const { channel_id } = kit.provider.createChannel({ site_id: kit.site });
  kit.provider.activateChannel(channel_id);
  kit.provider.createMedia({ site_id: kit.site });
  await kit.settled();
  expect(seen.toSorted().join(' ')).toBe(
    'channel_active channel_created conversions_complete media_available media_created thumbnail_created',
  );
  kit.provider.setFaults({ forge: 1 });
  for (let number = 0; number < 3; number++) kit.provider.createMedia({ site_id: kit.site });
  await kit.settled();
  expect(await kit.events()).toHaveLength(6);
  kit.provider.setFaults({ forge: 0 });
  await kit.crash();
  kit.provider.idleChannel(channel_id);
  await kit.advance('5s');
  await kit.restart();
  await kit.settled();
  expect(seen.at(-1)).toBe('channel_idle');
  expect(kit.provider.deliveries().at(-1)).toMatchObject({ state: 'delivered' });
  expect(kit.provider.deliveries().at(-1)?.attempts.length).toBeGreaterThan(1);
});

test('a recording becomes a test, with its gaps and the ends that it expects, and what was received a recording', async () => {
  const directory = await temporaryDirectory();
  const file = join(directory, 'recording.ndjson');
  await using first = await testReceiver({ handlers: {} });
  await first.deliver('media_created', { media_id: MEDIA });
  await first.advance('2h');
  await first.deliver('media_deleted', { media_id: MEDIA });
  await first.record(file);
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);

  const { seen, handlers } = noting();
  await using second = await testReceiver({ handlers });
  const before = second.now();
  await second.fromRecording(file);
  await second.settled();
  expect(seen).toEqual(['media_created', 'media_deleted']);
  expect(second.now() - before).toBeGreaterThanOrEqual(7_200_000);
  expect((await second.events()).map(({ id }) => id)).toEqual((await first.events()).map(({ id }) => id));

  const expecting = readFileSync(file, 'utf8').replace(/\}\n$/, ',"expect":{"status":"dead"}}\n');
  writeFileSync(file, expecting);
  await using third = await testReceiver({ handlers, now: Date.UTC(2024, 0, 1) });
  const told = `1 event ended otherwise than expected\nline 2: media_deleted of media:${MEDIA}\n  expected`;
  await expect(third.fromRecording(file)).rejects.toThrow(told);
  expect(new Date(third.now()).getUTCFullYear()).toBe(2024);
});

test('nothing goes on, once it is stopped, and a stop tells of each crash and failure that did not come', async () => {
  const kit = await testReceiver({
    handlers: { media_created: async (_event, ctx) => void (await ctx.once('charge', () => null)) },
  });
  kit.crashAt('never', 'after');
  kit.crashAt('charge', 'before');
  kit.crashAt('charge', 'before');
  kit.crashAt('chrage', 'between');
  await kit.deliver('media_created');
  for (const starts of [1, 2]) {
    await kit.settled();
    expect(await kit.event()).toMatchObject({ status: 'running', starts });
    await kit.restart();
  }
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled', starts: 3 });
  await expect(kit.stop()).rejects.toThrow(
    'crashAt: no handler came to this point: after step never, between step chrage',
  );
  await expect(kit.deliver('media_created')).rejects.toThrow('was stopped');
  await expect(kit.events()).rejects.toThrow();
  await kit.stop();
  const failure = await testReceiver({ handlers: {} });
  failure.failNext();
  await expect(failure.stop()).rejects.toThrow('failNext: no handler has run since');
});

test('a misspelt kind, a member that the kind has not, and a wrong value are type errors', () => {
  const mistakes = async (kit: TestReceiver) => {
    // @ts-expect-error no such kind
    await kit.deliver('media_availble');
    // @ts-expect-error a media has no channel
    await kit.deliver('media_available', { channel_id: 'c' });
    // @ts-expect-error ids are texts
    await kit.deliver('media_available', { media_id: 7 });
    // @ts-expect-error no such place
    kit.crashAt('step', 'during');
  };
  expect(mistakes).toBeInstanceOf(Function);
});

/** What the app of these tests did, in order. */
const told: string[] = [];

const app = defineApp({
  settings: z.object({ SHOP_URL: z.url(), SHOP_SIZE: z.coerce.number().default(3) }),
  start({ settings, signal }) {
    told.push(`open ${settings.SHOP_URL} ${settings.SHOP_SIZE}`);
    signal.addEventListener('abort', () => told.push('abort'));
    return {
      app: { offer: async (id: string) => void told.push(`offer ${id}`) },
      close: () => void told.push('close'),
    };
  },
  handlers: {
    async media_available(event, ctx) {
      await ctx.app.offer(event.media_id);
      ctx.state.set('offered', ctx.attempt);
    },
  },
});

const settings = { SHOP_URL: 'https://shop.test' };
const begin = (options: Partial<KitOptions> = {}) => {
  told.length = 0;
  return testReceiver({ app, settings, ...options });
};

test('the app starts whenever the process does, and ends with it', async () => {
  const kit = await begin({ settings: { ...settings, SHOP_SIZE: '7' } });
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  await kit.restart();
  await kit.stop();
  const open = 'open https://shop.test 7';
  expect(told).toEqual([open, 'offer M', 'abort', 'close', open, 'abort', 'close']);
});

test('handlers of one file get what they expect of ctx.app from `resources`', async () => {
  const handlers = defineHandlers<{ offer: (id: string) => void }>({
    media_available: (event, ctx) => ctx.app.offer(event.media_id),
  });
  const offered: string[] = [];
  const kit = await testReceiver({ handlers, resources: { offer: (id: string) => void offered.push(id) } });
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  expect(offered).toEqual(['M']);
  await kit.stop();
});

test('a process that crashes closes nothing before the next one has started', async () => {
  const kit = await begin();
  await kit.crash();
  await expect(kit.page('/app')).rejects.toThrow('the receiver has crashed');
  await kit.restart();
  expect(told).toEqual(['open https://shop.test 3', 'open https://shop.test 3']);
  await kit.stop(); // leaves nothing open
  expect(told.filter((what) => what === 'close')).toHaveLength(2);
});

test('timers and dates of start go by the time of the test, those of handlers do not, and a crash ends them', async () => {
  const swept: string[] = [];
  const sweeping = defineApp({
    start({ states }) {
      const sweep = async () => {
        const found = await Array.fromAsync(states('media', 'left'));
        swept.push(`${new Date().toISOString().slice(11, 16)} ${found.length}`);
      };
      const hourly = setInterval(sweep, 3_600_000).unref();
      setTimeout(() => clearInterval(hourly), 9_000_000);
      clearTimeout(setTimeout(sweep, 1));
      return { app: { sweep } };
    },
    handlers: {
      async media_available(_event, ctx) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        ctx.state.set('left', Date.now() - ctx.receivedAt.getTime() > 1000);
      },
    },
  });
  const before = [setTimeout, setInterval, clearTimeout, clearInterval, Date];
  {
    await using kit = await testReceiver({ app: sweeping });
    await kit.deliver('media_available', { media_id: 'M' });
    await kit.settled();
    expect(await kit.state('media:M')).toEqual({ left: true });
    await kit.advance('4h');
    expect(swept).toEqual(['01:00 1', '02:00 1']);
    await kit.restart();
    await kit.advance('1h');
    await kit.crash();
    await kit.advance('2h');
    expect(swept).toEqual(['01:00 1', '02:00 1', '05:00 1']);
  }
  expect([setTimeout, setInterval, clearTimeout, clearInterval, Date]).toEqual(before);
});

test.each([
  [{ settings: {} }, 'settings of testReceiver has 1 mistake:\n  SHOP_URL: is not set'],
  [{ settings: { ...settings, SHOP_SITE: '1' } }, 'there is no setting SHOP_SITE'],
  [{ settings: { ...settings, LEASE_MS: 'long' } }, 'settings of testReceiver has 1 mistake'],
  [{ handlers: {} }, 'must have either `handlers`, or an `app`'],
  [
    { app: undefined, handlers: { media_avaliable() {} } },
    'handlers: media_avaliable: handlers are functions',
  ],
  [
    { app: defineApp({ start: () => Promise.reject(new Error('no shop')), handlers: {} }), settings: {} },
    'the start of the app failed: Error: no shop',
  ],
])('options that are mistaken, %j, are refused', async (options, message) => {
  const before = setTimeout;
  await expect(begin(options as Partial<KitOptions>)).rejects.toThrow(message);
  expect(setTimeout).toBe(before); // nothing of it is left
});

test('a receiver under test goes on where the test fakes all timers, and leaves them to it', async () => {
  const sweeping = defineApp({ start: () => ({ app: setInterval(() => {}, 1000).unref() }), handlers: {} });
  for (const isFirst of [true, false]) {
    if (isFirst) jest.useFakeTimers({ now: 5 });
    const kit = await testReceiver({ app: sweeping });
    if (!isFirst) jest.useFakeTimers({ now: 5 });
    await kit.deliver('media_created');
    await kit.settled();
    expect([Date.now(), (await kit.event()).status]).toEqual([5, 'skipped']);
    await kit.stop();
    expect(Date.now()).toBe(5);
    jest.useRealTimers();
  }
});

test('a new event does not wait behind a backlog of its limit: every fourth place goes to the newest', async () => {
  const begun: string[] = [];
  const first = Promise.withResolvers<void>();
  const limited = defineApp({
    limits: { track_created: 1 },
    handlers: {
      async track_created({ media_id }) {
        begun.push(media_id);
        await first.promise;
      },
    },
  });
  await using kit = await testReceiver({ app: limited });
  for (let media = 0; media < 40; media++) await kit.deliver('track_created', { media_id: `M${media}` });
  first.resolve();
  await kit.settled();
  expect(begun.indexOf('M39')).toBeLessThan(8);
  expect(begun.indexOf('M8')).toBeLessThan(16); // the oldest keep three of four
});

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

test('a mistake of one subscriber that takes a failure is found, as a test to paste', async () => {
  const onAir: readonly Happening[] = [
    ['channel_active', { channel_id: 'c' }],
    ['channel_idle', { channel_id: 'c' }],
  ];
  const scenario: Scenario<Map<string, string>> = async (start) => {
    const boards = new Map<string, string>();
    const show = (
      event: { event: string; event_time: string },
      { late, state, subscriber }: HandlerContext,
    ) => {
      const isOlder = String(state.get('newest') ?? '') > event.event_time;
      if (subscriber === 'captions' ? late : isOlder) return;
      state.set('newest', event.event_time);
      boards.set(subscriber, event.event);
    };
    const handlers: Handlers = { channel_active: show, channel_idle: show };
    await start({
      app: defineApp({ handlers, subscribers: { search: { handlers }, captions: { handlers } } }),
    });
    return boards;
  };
  const areIdle = (_kit: unknown, boards: Map<string, string>) =>
    assert.deepEqual([...new Set(boards.values())], ['channel_idle']);
  const told = await matrix(onAir, scenario, areIdle).then(String, String);
  expect(told).toContain("\n  kit.failNext('all');\n");
});
