import { describe, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { defineHandlers, fail, type HandlerContext, retry, skip } from '../../src/dispatch/handler.ts';
import { eachWithStage, LEASE_MS, MAX_ATTEMPTS, TIMEOUT_MS } from '../support/dispatch-stage.ts';
import { present } from '../support/only.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';

const stage = eachWithStage(sqliteFixture());

/** Longer than a handler may take to end once its signal is aborted. */
const LEFT_BEHIND_MS = 10_000;
const MOST_BYTES = 1024 * 1024;

/** A handler of one step. The test ends the step of each run, whatever the run's signal says. */
function heldSteps() {
  const steps: { end(result: unknown): void }[] = [];
  const results: unknown[] = [];
  const media_available = async (_event: unknown, ctx: HandlerContext) => {
    const number = steps.length;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const step = ctx.once('announce', () => {
      steps.push({ end: resolve });
      return promise;
    });
    results[number] = await step.catch((error: Error) => error);
  };
  return { handlers: defineHandlers({ media_available }), steps, results };
}

function failing(times: number): () => void {
  let left = times;
  return () => {
    if (left-- > 0) throw new KitError('STORE_UNAVAILABLE', 'the database is locked');
  };
}

describe('the result of ctx.once', () => {
  test('is the stored one, when the step runs for the first time, as at every later attempt and replay', async () => {
    const { store, record, start, pass } = stage();
    await record();
    const seen: unknown[] = [];
    await start({
      async media_available(_event, ctx) {
        seen.push(
          await ctx.once('announce', () => ({
            at: new Date(0),
            gone: undefined,
            none: Number.NaN,
            list: [undefined],
          })),
        );
        if (seen.length === 1) throw new Error('after the step');
      },
    });
    await pass(10_000);
    await store.replay({});
    await pass(500);
    expect(seen).toHaveLength(3);
    for (const result of seen) {
      expect(result).toStrictEqual({ at: '1970-01-01T00:00:00.000Z', none: null, list: [null] });
    }
  });

  test('is a copy for each who asked, when a handler asks twice at the same moment and changes it', async () => {
    const { record, start } = stage();
    await record();
    const seen: unknown[] = [];
    await start({
      async media_available(_event, ctx) {
        const ask = () => ctx.once('announce', () => ({ list: [1] }));
        const [first, second] = await Promise.all([ask(), ask()]);
        first.list.push(2);
        seen.push(second, await ask());
      },
    });
    expect(seen).toEqual([{ list: [1] }, { list: [1] }]);
  });
});

describe('two runs of one event that overlap', () => {
  test('go on with the stored result, when the later run stored its own first', async () => {
    const { store, record, start, pass, quiet } = stage();
    const id = await record();
    const { handlers, steps, results } = heldSteps();
    await start(handlers);
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    expect(steps).toHaveLength(2);
    steps[1]?.end('later');
    await quiet();
    steps[0]?.end('earlier');
    await quiet();
    expect(results).toEqual(['later', 'later']);
    expect(await store.step(id, 'announce')).toEqual({ result: '"later"' });
  });

  test('do not share the result of the first, when its attempt has ended by time-out, and nothing of it is stored', async () => {
    const { store, record, start, pass, quiet, event } = stage();
    const id = await record();
    const { handlers, steps, results } = heldSteps();
    await start(handlers);
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    steps[0]?.end('earlier');
    await quiet();
    expect(await store.step(id, 'announce')).toBeUndefined();
    expect(results[0]).toMatchObject({
      message: expect.stringMatching(/"announce".*has ended.*ctx\.signal/),
    });
    steps[1]?.end('later');
    await quiet();
    expect(await store.step(id, 'announce')).toEqual({ result: '"later"' });
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
  });
});

describe('a run whose time is over', () => {
  test('stores its step, when the step ends before the attempt does, and the next attempt has the result', async () => {
    const { store, record, start, pass, quiet } = stage();
    const id = await record();
    const { handlers, steps, results } = heldSteps();
    await start(handlers);
    await pass(TIMEOUT_MS + 1);
    steps[0]?.end('just in time');
    await quiet();
    expect(await store.step(id, 'announce')).toEqual({ result: '"just in time"' });
    await pass(LEFT_BEHIND_MS);
    expect(steps).toHaveLength(1);
    expect(results.at(-1)).toBe('just in time');
  });
});

describe('a run whose attempt has ended', () => {
  test('stores nothing and begins no step, when another process took its event over', async () => {
    const { store, record, start, pass, quiet } = stage();
    const id = await record();
    const { handlers, steps, results } = heldSteps();
    const { intercept } = await start(handlers, { handlerTimeoutMs: 10 * LEASE_MS });
    intercept('renew', failing(Number.POSITIVE_INFINITY));
    const other = heldSteps();
    await start(other.handlers, { handlerTimeoutMs: 10 * LEASE_MS });
    await pass(3 * LEASE_MS);
    expect(other.steps).toHaveLength(1);
    steps[0]?.end('of the one that lost it');
    await quiet();
    expect(results[0]).toBeInstanceOf(Error);
    expect(await store.step(id, 'announce')).toBeUndefined();
    other.steps[0]?.end('of the one that holds it');
    await quiet();
    expect(await store.step(id, 'announce')).toEqual({ result: '"of the one that holds it"' });
  });

  test('begins no step, when it comes to one only then', async () => {
    const { record, start, pass, quiet } = stage();
    await record();
    const begin = Promise.withResolvers<void>();
    const ran: number[] = [];
    const errors: unknown[] = [];
    await start({
      async media_available(_event, ctx) {
        if (ctx.attempt > 1) return;
        await begin.promise;
        await ctx.once('announce', () => ran.push(ctx.attempt)).catch((error) => errors.push(error));
      },
    });
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    begin.resolve();
    await quiet();
    expect(ran).toEqual([]);
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining('has ended') })]);
  });
});

describe('a step that a handler comes to after it returned', () => {
  test.each(Array.from({ length: 24 }, (_, later) => later))(
    'does not run, or ends the attempt with an error and is stored: %d microtasks later',
    async (later) => {
      const { store, record, start, quiet, event } = stage();
      const id = await record();
      const ran: number[] = [];
      const errors: string[] = [];
      const passed = async () => {
        for (let task = 0; task < later; task++) await undefined;
      };
      await start({
        async media_available(_event, ctx) {
          const charge = () => ctx.once('charge', () => void ran.push(ctx.attempt));
          passed()
            .then(charge)
            .catch(({ message }) => errors.push(message));
        },
      });
      await quiet();
      const [first] = await store.attempts(id);
      if (ran.length > 0) {
        expect(first).toMatchObject({
          outcome: 'error',
          error: expect.stringContaining('await each ctx.once'),
        });
        expect(errors).toEqual([]);
      } else {
        expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
        expect(errors).toEqual([expect.stringMatching(/has ended .*: it does not run$/)]);
      }
    },
  );
});

describe('a handler that returns while a step still runs, for lack of an await,', () => {
  test('has failed, and begins no further step, when the steps follow one another; those that have begun are stored', async () => {
    const { store, record, start, pass, quiet, event } = stage();
    const id = await record();
    const ran: string[] = [];
    await start({
      async media_available(_event, ctx) {
        const both = async () => {
          for (const name of ['one', 'two', 'three'])
            await ctx.once(name, () => ran.push(`${name} ${ctx.attempt}`));
        };
        const done = both();
        done.catch(() => {});
        if (ctx.attempt === 1) return;
        await done;
      },
    });
    await quiet();
    await pass(60_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
    expect(await store.attempts(id)).toMatchObject([{ outcome: 'error' }, { outcome: 'handled' }]);
    expect(ran).toEqual(['one 1', 'two 2', 'three 2']);
  });

  test('has failed, and what it has begun runs to its end, when that is a step that has others inside', async () => {
    const { record, start, pass, quiet, event } = stage();
    const id = await record();
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    await start({
      async media_available(_event, ctx) {
        const inner = (name: string) => ctx.once(name, () => void ran.push(`${name} ${ctx.attempt}`));
        const outer = ctx.once('outer', async () => {
          await gate.promise;
          await inner('one');
          await inner('two');
        });
        if (ctx.attempt > 1) await outer;
      },
    });
    gate.resolve();
    await quiet();
    await pass(60_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
    expect(ran).toEqual(['one 1', 'two 1']);
  });

  test.each([
    ['nothing', () => undefined],
    ['skip', () => skip('nothing to do')],
    ['fail', () => fail('never')],
    ['retry', () => retry({ reason: 'later' })],
  ])(
    'has failed, when it returns %s; the step ends, and the next attempt has its result',
    async (_, outcome) => {
      const { store, record, start, pass, quiet, event } = stage();
      const id = await record();
      const step = Promise.withResolvers<string>();
      const ran: number[] = [];
      const results: unknown[] = [];
      const charge = (attempt: number) => () => {
        ran.push(attempt);
        return step.promise;
      };
      await start({
        async media_available(_event, ctx) {
          const charged = ctx.once('charge', charge(ctx.attempt));
          if (ctx.attempt === 1) return outcome();
          results.push(await charged);
        },
      });
      expect(await event(id)).toMatchObject({ status: 'running', attempts: 1 });
      step.resolve('charged');
      await quiet();
      expect(await store.attempts(id)).toMatchObject([
        {
          outcome: 'error',
          error: 'the handler returned while "charge" of ctx.once still ran: await each ctx.once',
        },
      ]);
      await pass(60_000);
      expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
      expect({ ran, results }).toEqual({ ran: [1], results: ['charged'] });
    },
  );

  test('has failed, when the step fails, which then runs again', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    let runs = 0;
    await start({
      media_available(_event, ctx) {
        const charged = ctx.once('charge', async () => {
          if (++runs === 1) throw new Error('the bank is down');
        });
        charged.catch(() => {});
        if (ctx.attempt > 1) return charged;
      },
    });
    await pass(60_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
    expect(runs).toBe(2);
  });

  test('is timed out, when the step never ends', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    await start({
      media_available: (_event, ctx) => void ctx.once('charge', () => new Promise(() => {})).catch(() => {}),
    });
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    expect((await event(id))?.lastError).toMatch(
      /^the handler returned while "charge" of ctx\.once still ran: await each ctx\.once; "charge" of ctx\.once had not ended after \d+ ms$/,
    );
  });

  test('is timed out, when two steps wait for each other, and both are named', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    await start({
      media_available: (_event, ctx) => {
        const one = ctx.once('one', () => ctx.once('two', () => 1));
        const two = ctx.once('two', () => ctx.once('one', () => 2));
        return Promise.all([one, two]).then(() => undefined);
      },
    });
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    expect((await event(id))?.lastError).toMatch(/, as "one", "two" of ctx\.once had not ended$/);
  });
});

describe('a store that is locked', () => {
  test.each(['step', 'saveStep'] as const)(
    'is asked again, when %s fails, and the step runs once in one attempt',
    async (method) => {
      const { record, start, pass, event, logged } = stage();
      let runs = 0;
      const { intercept } = await start({
        media_available: async (_event, ctx) => void (await ctx.once('announce', () => ++runs)),
      });
      intercept(method, failing(4));
      const id = await record();
      await pass(10_000);
      expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
      expect(runs).toBe(1);
      const lines = logged('the store does not answer a step of ctx.once; trying again');
      expect(lines).toEqual([expect.objectContaining({ event: id })]);
    },
  );

  test('gets the result, when it is locked for longer than the handler may take, and the step does not run again', async () => {
    const { store, record, start, pass, event } = stage();
    let runs = 0;
    const { intercept } = await start({
      media_available: async (_event, ctx) => void (await ctx.once('announce', () => ++runs)),
    });
    for (const method of ['saveStep', 'settle', 'renew'] as const) intercept(method, failing(1000));
    const id = await record();
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    expect(await store.step(id, 'announce')).toBeUndefined();
    for (const method of ['saveStep', 'settle', 'renew'] as const) intercept(method, () => {});
    await pass(20_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
    expect(runs).toBe(1);
  });

  test('is what the handler is said to wait for, when the store is away for longer than that may take', async () => {
    const { store, record, start, pass } = stage();
    const { intercept } = await start({
      media_available: async (_event, ctx) => void (await ctx.once('announce', () => 1)),
    });
    intercept('saveStep', failing(Number.POSITIVE_INFINITY));
    const id = await record();
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    intercept('saveStep', () => {});
    await pass(2000);
    const [first] = await store.attempts(id);
    expect(first).toMatchObject({
      error: `the handler took longer than ${TIMEOUT_MS} ms, and "announce" of ctx.once waited for the store`,
    });
  });

  test.each([
    ['is stored', 'saveStep', 1],
    ['is looked up', 'step', 0],
  ] as const)(
    'is what the stop names, and no handler, when it waits until it %s',
    async (_, method, unstored) => {
      const { record, start, pass, logged } = stage();
      const { dispatcher, intercept } = await start({
        media_available: async (_event, ctx) => void (await ctx.once('announce', () => 1)),
      });
      intercept(method, failing(Number.POSITIVE_INFINITY));
      const id = await record();
      await pass(1000);
      const stopped = dispatcher.stop(0);
      await pass(10_000);
      expect(await stopped).toBe(1);
      expect(dispatcher.unstored).toBe(unstored);
      const lines = [
        logged(
          'cannot store the result of a step before the stop; the event runs again once its lease has run out, and the step with it',
        ),
        logged('a step of ctx.once waits for the store; the event runs again once its lease has run out'),
      ];
      const line = expect.objectContaining({ event: id, steps: ['announce'] });
      expect(lines).toEqual(unstored === 1 ? [[line], []] : [[], [line]]);
      expect(
        logged(
          'the handler ignores ctx.signal and still runs; its event runs again once its lease has run out',
        ),
      ).toEqual([]);
    },
  );

  test('is not asked for ever, when the dispatcher has stopped', async () => {
    const { record, start, pass, quiet } = stage();
    const { dispatcher, intercept } = await start({
      media_available: async (_event, ctx) => void (await ctx.once('announce', () => {})),
    });
    let asked = 0;
    intercept('saveStep', () => {
      asked++;
      throw new KitError('STORE_UNAVAILABLE', 'the store is closed');
    });
    await record();
    await pass(1000);
    const stopped = dispatcher.stop(0);
    await pass(60_000);
    await stopped;
    const before = asked;
    await pass(60_000);
    await quiet();
    expect(before).toBeGreaterThan(1);
    expect(asked).toBe(before);
  });
});

describe('a step whose result cannot be stored', () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  const trap = {
    toJSON() {
      throw new Error('a trap');
    },
  };

  test.each<[string, () => unknown]>([
    ['a BigInt', () => ({ id: 1n })],
    ['circular', () => circle],
    ['a function', () => () => {}],
    ['a symbol', () => Symbol('no data')],
    ['an object whose toJSON throws', () => trap],
    ['larger than 1 MB', () => 'x'.repeat(MOST_BYTES - 1)],
    ['larger than 1 MB in UTF-8', () => 'é'.repeat(MOST_BYTES / 2)],
  ])('ends the event as dead at once, when it is %s, and has run once', async (_, step) => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    let runs = 0;
    await start({
      media_available: async (_event, ctx) => {
        await ctx.once('announce', () => {
          runs++;
          return step();
        });
      },
    });
    await pass(60_000);
    expect(runs).toBe(1);
    expect(await event(id)).toMatchObject({
      status: 'dead',
      attempts: 1,
      lastError: expect.stringMatching(/^step "announce" of ctx\.once .*replay/),
    });
    expect(await store.step(id, 'announce')).toBeUndefined();
  });

  test.each<[string, (error: unknown) => unknown]>([
    ['goes on', () => undefined],
    ['asks for a retry', () => ({ type: 'retry', reason: 'not yet' })],
    ['throws another error', () => Promise.reject(new Error('another'))],
  ])('ends the event as dead, when the handler catches the error and %s', async (_, then) => {
    const { record, start, pass, event } = stage();
    const id = await record();
    await start({ media_available: (_event, ctx) => ctx.once('announce', () => 1n).catch(then) as never });
    await pass(60_000);
    expect(await event(id)).toMatchObject({ status: 'dead', attempts: 1 });
  });

  test('is as large as it may be, when its JSON has 1 MB to the byte', async () => {
    const { store, record, start, event } = stage();
    const id = await record();
    await start({
      media_available: async (_event, ctx) =>
        void (await ctx.once('announce', () => 'x'.repeat(MOST_BYTES - 2))),
    });
    expect(await event(id)).toMatchObject({ status: 'handled' });
    expect(present(await store.step(id, 'announce')).result).toHaveLength(MOST_BYTES);
  });
});

const UNSTORABLE = ', without NUL and halves of surrogate pairs';

describe('the name of a step', () => {
  const named = async (name: unknown) => {
    const { record, start, pass, event } = stage();
    const id = await record();
    let runs = 0;
    await start({
      media_available: async (_event, ctx) => void (await ctx.once(name as string, () => ++runs)),
    });
    await pass(60_000);
    return { runs, event: await event(id) };
  };

  test.each<[string, unknown, string?]>([
    ['a number', 42],
    ['undefined', undefined],
    ['null', null],
    ['empty', ''],
    ['of 201 characters', 'x'.repeat(201)],
    ['of 10,000 characters', 'x'.repeat(10_000)],
    ['a list', ['a']],
    ['a symbol', Symbol('s')],
    ['half a character', '\ud800', UNSTORABLE],
    ['with a zero in it', 'a\0b', UNSTORABLE],
  ])('is refused before the step runs, when it is %s', async (_, name, rule = '') => {
    const { runs, event } = await named(name);
    expect(runs).toBe(0);
    expect(event).toMatchObject({
      status: 'dead',
      attempts: MAX_ATTEMPTS,
      lastError: expect.stringContaining(
        `TypeError: the name of a step of ctx.once must be a string of 1 to 200 characters${rule}, and this one is `,
      ),
    });
  });

  test.each([
    ['a character', 'x'],
    ['of 200 characters', 'x'.repeat(200)],
    ['of 200 characters of two units', '\u{1f3ac}'.repeat(200)],
    ['a space', ' '],
    ['a member of objects', '__proto__'],
    ['two lines', 'two\nlines'],
  ])('is taken, when it is %s', async (_, name) => {
    const { runs, event } = await named(name);
    expect(runs).toBe(1);
    expect(event).toMatchObject({ status: 'handled' });
  });
});
