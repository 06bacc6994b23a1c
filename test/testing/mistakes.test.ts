import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { defineHandlers, type HandlerContext, type Handlers } from '../../src/index.ts';
import {
  type Check,
  type EveryCrashOptions,
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  testReceiver,
} from '../../src/testing/index.ts';

// Each mistake as somebody makes it, with the tool that finds it, and what that says. docs/testing.md has the table.

const MEDIA = { media_id: 'M' };
const M: Happening = ['media_available', MEDIA];

/** A service that takes calls: with a key, it takes each once. */
class Service {
  readonly taken: string[] = [];
  readonly #keys = new Set<string>();

  async call(what: string, key?: string): Promise<void> {
    if (key === undefined || !this.#keys.has(key)) this.taken.push(what);
    if (key !== undefined) this.#keys.add(key);
  }
}

const tookOnce: Check<Service> = (_kit, { taken }) => assert.equal(taken.length, 1, `${taken.length} calls`);

type MakeHandlers = (service: Service) => Handlers;

const onAvailable =
  (run: (service: Service, ctx: HandlerContext) => Promise<unknown>): MakeHandlers =>
  (service) =>
    defineHandlers({ media_available: async (_event, ctx) => void (await run(service, ctx)) });

/** What one event of these handlers leads to. */
async function settled(handlers: Handlers): Promise<void> {
  await using kit = await testReceiver({ handlers });
  await kit.deliver('media_available', MEDIA);
  await kit.settled();
}

const delivering =
  (handlersOf: MakeHandlers): Scenario<Service> =>
  async (start) => {
    const service = new Service();
    const kit = await start({ handlers: handlersOf(service) });
    await kit.deliver('media_available', MEDIA);
    return service;
  };

const crashing = (handlersOf: MakeHandlers, options: EveryCrashOptions = {}): Promise<void> =>
  everyCrash(delivering(handlersOf), tookOnce, options);

const withoutKey = onAvailable((service, ctx) => ctx.once('charge', () => service.call('charge')));
const withKey = onAvailable((service, ctx) => ctx.once('charge', () => service.call('charge', ctx.id)));

test('a call without an idempotency key: everyCrash, which plays one point alone and leaves others out', async () => {
  await expect(crashing(withoutKey)).rejects.toMatchObject({
    message: expect.stringContaining(
      'a crash between step charge breaks the check.\n' +
        'To see it alone: everyCrash(scenario, check, { only: "between step charge" })\n' +
        '2 calls',
    ),
    cause: expect.objectContaining({ code: 'ERR_ASSERTION' }),
  });
  await expect(crashing(withoutKey, { only: 'between step charge' })).rejects.toThrow('2 calls');
  await crashing(withoutKey, { except: ['between step'] });
  await crashing(withKey);
});

test('everyCrash says what is wrong with a scenario, and which points it has', async () => {
  const fails = () => {
    throw new Error('no');
  };
  const failing = everyCrash(delivering(withKey), fails);
  await expect(failing).rejects.toThrow('without any crash, the check fails: no');
  const idle: Scenario<unknown> = (start) => start({ handlers: {} });
  await expect(everyCrash(idle, () => {})).rejects.toThrow('makes no event: deliver something');
  await expect(crashing(withKey, { only: 'noon' })).rejects.toThrow(
    'the scenario never comes to "noon", but to before record media_available, after record media_available, ' +
      'after claim media_available, before step charge, between step charge, after step charge, ' +
      'before settle media_available, after settle media_available',
  );
});

test('a call of ctx.statuses is a point, and an event that dies breaks the check, unless it may', async () => {
  const dying = onAvailable(async (_service, ctx) => {
    await ctx.statuses?.page();
    throw new Error('never');
  });
  const scenario: Scenario<unknown> = async (start) => {
    const kit = await start({ handlers: dying(new Service()), settings: { RETRY_MAX_ATTEMPTS: '1' } });
    await kit.deliver('media_available');
  };
  await expect(everyCrash(scenario, () => {})).rejects.toThrow('{ mayDie: true } allows that');
  const atNoon = everyCrash(scenario, () => {}, { mayDie: true, only: 'noon' });
  await expect(atNoon).rejects.toThrow(/, before call GET \S+, after call GET /);
});

test('a call outside ctx.once: everyCrash', async () => {
  const bad = onAvailable(async (service, ctx) => {
    await service.call('charge');
    await ctx.once('receipt', () => 'sent');
  });
  await expect(crashing(bad)).rejects.toThrow('a crash before step receipt breaks the check');
});

test('an update that is lost among two at once: matrix', async () => {
  const both: Happening[] = [M, ['media_available', { media_id: 'other' }]];
  const found = matrix(
    both,
    async (start) => {
      let page: readonly string[] = [];
      const handlers = defineHandlers({
        async media_available({ media_id }) {
          const read = page;
          await sleep(0);
          page = [...new Set([...read, media_id])];
        },
      });
      await start({ handlers });
      return () => page;
    },
    (_kit, page) => assert.equal(page().length, 2, `${page().length} on the page`),
    { most: 1, random: 0 },
  );
  await expect(found).rejects.toThrow(/this history breaks the check:\n\n.*1 on the page/s);
});

test('a list of ctx.state that is changed and not set: each test', async () => {
  const handlersOf = (adds: (list: string[], ctx: HandlerContext) => void) =>
    defineHandlers({
      media_available(_event, ctx) {
        if (!ctx.state.get('list')) ctx.state.set('list', ['first']);
        adds(ctx.state.get('list') as string[], ctx);
      },
    });
  await expect(settled(handlersOf((list) => list.push('second')))).rejects.toThrow(
    'the handler of media_available changes a value of ctx.state.get and does not set it, so that the change is lost: "list"',
  );
  await settled(
    handlersOf((list, ctx) => {
      list.push('second');
      ctx.state.set('list', list);
    }),
  );
});

test.each<[string, (service: Service) => unknown]>([
  ['an async function', (service) => void service.call('mail')],
  ['one whose time comes later', () => void new Promise((resolve) => setTimeout(resolve, 60_000).unref())],
  ['fetch', () => void fetch('data:text/plain,mail')],
  ['a fake of Jest', () => void jest.fn<() => Promise<void>>().mockResolvedValue()()],
])('a call without await, of %s: each test', async (_what, call) => {
  const handlers = defineHandlers({
    media_available: async () => {
      await sleep(1);
      call(new Service());
    },
  });
  await expect(settled(handlers)).rejects.toThrow(
    /^the handler of media_available does not await what it calls:\n {4}at .*mistakes\.test\.ts:\d+:\d+.*\bmedia_available \(/s,
  );
});

test('a rejection that nobody handles: each test, with its error, and the test runner hears nothing of it', async () => {
  const handlers = defineHandlers({
    async media_created() {
      const refused = Promise.reject(new Error('the service is down'));
      await sleep(5);
      return refused;
    },
  });
  const kit = await testReceiver({ handlers, settings: { RETRY_MAX_ATTEMPTS: '1' } });
  await kit.deliver('media_created');
  await expect(kit.settled()).rejects.toThrow(
    /^the handler of media_created leaves a rejection unhandled: Error: the service is down\n.*mistakes\.test\.ts:\d+/s,
  );
  await kit.stop();
});

test('what a handler awaits in any way, or leaves to a race, is no mistake', async () => {
  const work = async () => sleep(1);
  async function* works() {
    yield work();
    yield* [work()];
  }
  const handlers = defineHandlers({
    async media_available() {
      for await (const _ of works());
      for await (const _ of [work(), work()]);
      await Array.fromAsync([work()]);
      await Promise.all([1, 2].map(work));
      await Promise.race([work(), sleep(50).then(work), new Promise(() => {})]);
      await Promise.allSettled([work(), Promise.reject(new Error('handled'))]);
      const answer = await fetch('data:application/json,{}');
      await answer.json();
      return work().finally(work);
    },
  });
  await settled(handlers);
});

test('a counter that counts again at a replay: matrix', async () => {
  const scenario = async (start: typeof testReceiver) => {
    const handlers = defineHandlers({
      media_updated: (_event, ctx) => ctx.state.set('updates', Number(ctx.state.get('updates') ?? 0) + 1),
    });
    await start({ handlers });
  };
  const check: Check<void> = async (kit) => {
    const { updates } = await kit.state('media:M');
    assert.equal(updates, 1, `${updates} updates`);
  };
  await expect(matrix([['media_updated', { media_id: 'M' }]], scenario, check)).rejects.toThrow(
    `this history breaks the check:

  const kit = await testReceiver(options);
  await kit.deliver('media_updated', { event_time: '2026-01-01T00:00:00+00:00', media_id: 'M' });
  await kit.handled();
  await kit.replay({ kind: 'media_updated' });
  await kit.settled();
  // and your check

2 updates`,
  );
});

type Board = Map<string, string>;

const CHANNEL = { channel_id: 'c' };
const onAndOff: Happening[] = [
  ['channel_active', CHANNEL],
  ['channel_idle', CHANNEL],
];

/** A board of channels. @param isNews whether an event may change it */
function boardOf(isNews: (ctx: HandlerContext, at: string) => boolean): Scenario<Board> {
  return async (start) => {
    const board: Board = new Map();
    const handlers = defineHandlers({
      channel_active(event, ctx) {
        if (isNews(ctx, event.event_time)) board.set(event.channel_id, 'active');
      },
      channel_idle(event, ctx) {
        if (isNews(ctx, event.event_time)) board.set(event.channel_id, 'idle');
      },
    });
    await start({ handlers });
    return board;
  };
}

const isIdle = (_kit: unknown, board: Board) =>
  assert.equal(board.get('c'), 'idle', `it is ${board.get('c')}`);

/** How a history is told in which the board goes back. */
const GOES_BACK = `this history breaks the check:

  const kit = await testReceiver(options);
  await kit.deliver('channel_idle', { event_time: '2026-01-01T00:00:01+00:00', channel_id: 'c' });
  await kit.handled();
  await kit.deliver('channel_active', { event_time: '2026-01-01T00:00:00+00:00', channel_id: 'c' });
  await kit.settled();
  // and your check
`;

test('what only random histories show is found, cut to what matters, also where crashes are to come', async () => {
  const failures: Scenario<{ runs: number }> = async (start) => {
    const seen = { runs: 0 };
    await start({ handlers: { media_created: () => void seen.runs++ } });
    return seen;
  };
  const fewRuns = (_kit: unknown, { runs }: { runs: number }) => assert.ok(runs < 2, `${runs} runs`);
  const options = { most: 3, random: 200, seed: 1, crashes: 'every' } as const;
  const message = await matrix([['media_created']], failures, fewRuns, options).then(String, String);
  expect(message).toContain(`this history of seed 1 breaks the check:

  const kit = await testReceiver(options);
  await kit.deliver('media_created', { event_time: '2026-01-01T00:00:00+00:00' });
  kit.failNext('all');
  await kit.settled();
  // and your check

2 runs`);
});

test('what is wrong for a while only is found by a check that is asked after each step', async () => {
  const idle = boardOf(() => true);
  const always: Check<Board> = (_kit, board) => assert.notEqual(board.get('c'), 'active', 'it is active');
  const found = matrix(onAndOff, idle, () => {}, { always });
  await expect(found).rejects.toMatchObject({
    message: expect.stringMatching(/and your check\n\nafter await kit\.(handled|settled)\(\);\nit is active/),
    cause: expect.objectContaining({ code: 'ERR_ASSERTION' }),
  });
});

test('a mistake that takes disorder and a crash together is found, and named by its point', async () => {
  // What changes with the newest event must not stand in a step: one that is done does not run again after an older event.
  const inStep: Scenario<Board> = async (start) => {
    const board: Board = new Map();
    const show =
      (state: string) => async (event: { channel_id: string; event_time: string }, ctx: HandlerContext) => {
        if (String(ctx.state.get('newest') ?? '') > event.event_time) return;
        await ctx.once('show', () => void board.set(event.channel_id, state));
        ctx.state.set('newest', event.event_time);
      };
    await start({ handlers: { channel_active: show('active'), channel_idle: show('idle') } });
    return board;
  };
  const ordersAlone = { most: 4, random: 0 };
  await matrix(onAndOff, inStep, isIdle, ordersAlone);
  const crashing = { ...ordersAlone, crashes: 'every' } as const;
  await expect(matrix(onAndOff, inStep, isIdle, crashing)).rejects.toThrow(`${GOES_BACK}
a crash after step show breaks the check.
To see it alone: everyCrash(scenario, check, { only: "after step show" })
it is active`);
});
