import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KitError } from '../../src/base/errors.ts';
import { fail, type Handler, type HandlerContext, retry, skip } from '../../src/dispatch/handler.ts';
import { runStateOf } from '../../src/dispatch/resource-state.ts';
import type { NotificationOf } from '../../src/notification/payload.ts';
import { eachWithStage, LEASE_MS, MAX_ATTEMPTS, TIMEOUT_MS } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { present } from '../support/only.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

type MediaHandler = Handler<NotificationOf<'media_available'>>;
type Work = (state: HandlerContext['state']) => unknown;

const stage = eachWithStage(sqliteFixture());

const RESOURCE = 'media:media-1';
const LEFT_BEHIND_MS = 10_000;
const MOST_BYTES = 64 * 1024;

const stored = async () =>
  Object.fromEntries(
    (await stage().store.state(RESOURCE)).map(({ name, value }) => [name, JSON.parse(value)]),
  );

/** Jest tells -0 from 0. */
function withoutMinusZero(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMinusZero);
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutMinusZero(one)]));
}

/** Has handlers do one thing after the other, an event each of the same media. */
async function inTurn(...works: readonly Work[]): Promise<void> {
  const { record, start, quiet } = stage();
  for (const index of works.keys()) await record({ at: EVENT_TIME + index * 1000 });
  let turn = 0;
  await start({ media_available: (_event, { state }) => void works[turn++]?.(state) });
  await quiet();
}

describe('ctx.state', () => {
  test('gives what the event before left, when events of one media run one after the other', async () => {
    const seen: unknown[] = [];
    await inTurn(
      (state) => {
        seen.push(state.get('posts'));
        state.set('posts', ['a']);
        state.set('title', 'first');
        seen.push(state.get('posts'));
      },
      (state) => {
        const posts = state.get<string[]>('posts') ?? [];
        seen.push(posts);
        state.set('posts', [...posts, 'b']);
        state.delete('title');
        seen.push(state.get('title'));
      },
      (state) => seen.push(state.get('posts'), state.get('title')),
    );
    expect(seen).toEqual([undefined, ['a'], ['a'], undefined, ['a', 'b'], undefined]);
    expect(await stored()).toEqual({ posts: ['a', 'b'] });
  });

  test('is of one media or channel, when others have names alike', async () => {
    const { record, start, store } = stage();
    await record();
    await record({ media_id: 'other' });
    await record({ event: 'channel_idle', media_id: undefined, channel_id: 'media-1' });
    const seen: unknown[] = [];
    const keep = (_event: unknown, { state }: HandlerContext) => {
      seen.push(state.get('kept'));
      state.set('kept', 1);
    };
    await start({ media_available: keep, channel_idle: keep });
    expect(seen).toEqual([undefined, undefined, undefined]);
    expect(await store.state('channel:media-1')).toEqual([{ name: 'kept', value: '1' }]);
  });

  test('keeps a copy of the moment, when the handler changes the value afterwards or what it got', async () => {
    const seen: unknown[] = [];
    await inTurn((state) => {
      const value = { list: [1], at: new Date(0) };
      state.set('value', value);
      value.list.push(2);
      const got = state.get<typeof value>('value');
      got?.list.push(3);
      seen.push(got?.at, state.get('value'));
    });
    const expected = { list: [1], at: '1970-01-01T00:00:00.000Z' };
    expect(seen).toEqual([expected.at, expected]);
    expect(await stored()).toEqual({ value: expected });
  });

  test('can be taken apart, when a handler passes get and set on alone', async () => {
    await inTurn(({ get, set, delete: remove }) => {
      set('gone', 1);
      remove('gone');
      set('count', (get<number>('count') ?? 0) + 1);
    });
    expect(await stored()).toEqual({ count: 1 });
  });
});

describe('what a handler has set', () => {
  const ends: readonly (readonly [string, MediaHandler, object, string])[] = [
    ['returns nothing', () => {}, { kept: true }, 'handled'],
    ['skips', () => skip('not for us'), { kept: true }, 'skipped'],
    ['gives up with fail', () => fail('never'), { kept: true }, 'dead'],
    ['asks for a retry', () => retry({ after: 86_400_000, reason: 'not yet' }), {}, 'pending'],
    [
      'throws in its last attempt',
      () => {
        throw new Error('broken');
      },
      {},
      'dead',
    ],
    ['returns what is no outcome', () => 5 as never, {}, 'dead'],
    ['asks for retries to the end', () => retry({ after: 0, reason: 'not yet' }), {}, 'dead'],
    ['has a step that cannot be stored', (_, ctx) => ctx.once('step', () => 1n).catch(() => {}), {}, 'dead'],
    ['does not end in time', () => new Promise(() => {}), {}, 'dead'],
  ];
  test.each(ends)(
    'is stored with the end of its event or not at all, when it %s',
    async (_, end, expected, status) => {
      const { record, start, pass, event } = stage();
      const id = await record();
      await start({
        media_available(notification, ctx) {
          ctx.state.set('kept', true);
          return end(notification, ctx);
        },
      });
      await pass((MAX_ATTEMPTS + 1) * (TIMEOUT_MS + LEFT_BEHIND_MS));
      expect(await event(id)).toMatchObject({ status });
      expect(await stored()).toEqual(expected);
    },
  );

  test('begins as before at each attempt, when the attempt before it failed', async () => {
    const { record, start, pass } = stage();
    await record();
    const seen: unknown[] = [];
    await start({
      media_available(_event, { state, attempt }) {
        seen.push(state.get('count'));
        state.set('count', attempt);
        if (attempt < 3) throw new Error('not yet');
      },
    });
    await pass(20_000);
    expect(seen).toEqual([undefined, undefined, undefined]);
    expect(await stored()).toEqual({ count: 3 });
  });

  test('is gone, when its process lost the lease, and the event that took over stores its own', async () => {
    const { record, start, pass, quiet } = stage();
    await record();
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle }, { handlerTimeoutMs: 10 * LEASE_MS });
    intercept('renew', () => {
      throw new KitError('STORE_UNAVAILABLE', 'the disk is gone');
    });
    held.last.ctx.state.set('by', 'the one that lost it');
    await start({ media_available: (_event, { state }) => state.set('by', 'the one that holds it') });
    await pass(3 * LEASE_MS);
    held.last.end();
    await quiet();
    expect(await stored()).toEqual({ by: 'the one that holds it' });
  });

  test('is stored once the store takes the result, when it was locked for a while', async () => {
    const { record, start, pass } = stage();
    await record();
    let left = 3;
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle });
    intercept('settle', () => {
      if (left-- > 0) throw new KitError('STORE_UNAVAILABLE', 'the database is locked');
    });
    held.last.ctx.state.set('kept', true);
    held.last.end();
    await pass(1000);
    expect(await stored()).toEqual({});
    await pass(10_000);
    expect(await stored()).toEqual({ kept: true });
  });

  test('is refused, when the handler has ended, with an error that says so', async () => {
    const { record, start } = stage();
    await record();
    let state: HandlerContext['state'] | undefined;
    await start({
      media_available(_event, ctx) {
        state = ctx.state;
      },
    });
    expect(() => state?.set('late', 1)).toThrow(/handler has ended.*await/);
    expect(() => state?.delete('late')).toThrow(/handler has ended.*await/);
    expect(await stored()).toEqual({});
  });

  test('stays as the last event left it, when an older one is replayed, which sees it', async () => {
    const { store, record, start, pass } = stage();
    const first = await record();
    await record({ at: EVENT_TIME + 1000 });
    const seen: unknown[] = [];
    await start({
      media_available(event, { state }) {
        seen.push(state.get('last'));
        state.set('last', event.event_time);
      },
    });
    await pass(500);
    await store.replay({ ids: [first] });
    await pass(500);
    const [, earlier, later] = seen;
    expect(seen).toEqual([undefined, earlier, later]);
    expect(String(earlier) < String(later)).toBe(true);
  });
});

describe('a value of ctx.state', () => {
  const problemOf = async (work: Work) => {
    const thrown: unknown[] = [];
    await inTurn((state) => {
      state.set('before', 1);
      try {
        work(state);
      } catch (error) {
        thrown.push(error);
      }
    });
    expect(await stored()).toEqual({ before: 1 });
    return thrown;
  };
  const circle: { self?: object } = {};
  circle.self = circle;

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['a BigInt', { id: 1n }],
    ['circular', circle],
    ['a function', () => {}],
    ['a symbol', Symbol('s')],
  ])('is refused, when it is %s, and the value before stays', async (_, value) => {
    const thrown = await problemOf((state) => state.set('before', value as object));
    expect(thrown).toEqual([
      expect.objectContaining({ name: 'TypeError', message: expect.stringMatching(/"before".*JSON/) }),
    ]);
  });

  const REFUSED = 'the value "views" of ctx.state cannot be stored';
  const refusalOf = (value: object, { set } = runStateOf(RESOURCE, []).state): unknown => {
    try {
      set('views', value);
    } catch (error) {
      return error;
    }
  };
  class Post {
    readonly id = 'p1';
  }
  const places: readonly [shown: string, value: unknown][] = [
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['NaN', Number.NaN],
    ['1n', 1n],
    ['Invalid Date', new Date(Number.NaN)],
    ['[Function: views]', function views() {}],
    ['Symbol(s)', Symbol('s')],
    ["Map(1) { 'a' => 1 }", new Map([['a', 1]])],
    ['Set(1) { 1 }', new Set([1])],
    ["Post { id: 'p1' }", new Post()],
    ['/a/', /a/],
    ['[Error: no]', new Error('no')],
    ['Promise { 1 }', Promise.resolve(1)],
    ['[Number: 1]', Object(1)],
    ['Uint8Array(1) [ 0 ]', new Uint8Array(1)],
    ['Infinity', { toJSON: () => Number.POSITIVE_INFINITY }],
  ];
  test.each(places)('is refused, when %s is in it, with its place', (what, value) => {
    const shared = { at: 1 };
    const around: [string, object][] = [
      ['.a[2]', { a: [shared, shared, value] }],
      ["['two words'].b", { ok: shared, 'two words': { b: value } }],
      ['[0][0]', [[value]]],
      ['', value as object],
    ];
    for (const [place, given] of around) {
      const thrown = refusalOf(given);
      expect(thrown).toBeInstanceOf(TypeError);
      const at = place && `at ${place} `;
      expect(thrown).toHaveProperty('message', `${REFUSED}: ${what} ${at}is no JSON value`);
    }
  });

  test.each<[string, object, string]>([
    ['undefined in a list', [1, undefined], 'undefined at [1]'],
    ['a gap in a list', Array(1), 'undefined at [0]'],
  ])('is refused, when there is %s, as it would come back as null', (_, value, what) => {
    expect(refusalOf(value)).toHaveProperty('message', `${REFUSED}: ${what} is no JSON value`);
  });

  const hidden = Object.defineProperty({ a: 1 }, 'b', { value: 2 });
  test.each<[string, object, string]>([
    [
      'a list with a member',
      Object.assign([1], { index: 0 }),
      "[ 1, index: 0 ] is no JSON value: its member 'index'",
    ],
    ['a list with a large number as name', Object.assign([1], { 4294967295: 1 }), "its member '4294967295'"],
    ['a match', present([...'abc'.matchAll(/b/g)][0]), " is no JSON value: its member 'index'"],
    [
      'a symbol as name',
      { a: 1, [Symbol('s')]: 2 },
      '{ a: 1, Symbol(s): 2 } is no JSON value: its member Symbol(s)',
    ],
    ['a hidden member', { deep: [hidden] }, "{ a: 1 } at .deep[0] is no JSON value: its member 'b'"],
    ['a member of JavaScript', Math, "Object [Math] {} is no JSON value: its member 'abs'"],
  ])('is refused, when it is %s, which JSON leaves out in silence', (_, value, what) => {
    const text = String(refusalOf(value));
    expect(text.startsWith(`TypeError: ${REFUSED}: `)).toBe(true);
    expect(text).toContain(what);
    expect(text.endsWith(' would be lost')).toBe(true);
  });

  test('is refused with what is wrong with it, when it is nested deeper than JSON of this machine goes', () => {
    let deep: object = [];
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(refusalOf(deep)).toHaveProperty(
      'message',
      `${REFUSED}: it is not JSON (it is nested thousands of levels deep)`,
    );
  });

  test('is what its toJSON gives, without members that are undefined, when it has some', async () => {
    const url = new URL('https://example.com/a');
    const bare = Object.assign(Object.create(null), { a: 1 });
    await inTurn((state) => {
      state.set('kept', {
        at: new Date(0),
        url,
        none: undefined,
        zero: -0,
        bare,
        deep: [{ at: new Date(0) }, null],
      });
    });
    const at = '1970-01-01T00:00:00.000Z';
    expect(await stored()).toEqual({
      kept: { at, url: url.href, zero: 0, bare: { a: 1 }, deep: [{ at }, null] },
    });
  });

  test('comes back as it was or is refused, when it is anything at all', () => {
    const anything = fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true });
    const property = fc.property(anything, (value) => {
      const { state } = runStateOf(RESOURCE, []);
      const thrown = refusalOf(value as object, state);
      if (thrown !== undefined) expect(thrown).toBeInstanceOf(TypeError);
      else expect(state.get('views')).toEqual(withoutMinusZero(value));
    });
    fc.assert(property);
  });

  test.each<[string, unknown, string?]>([
    ['empty', ''],
    ['of 201 characters', 'x'.repeat(201)],
    ['a number', 42],
    ['undefined', undefined],
    ['half a character', '\ud800', ', without NUL and halves of surrogate pairs'],
    ['with a zero in it', 'a\0b', ', without NUL and halves of surrogate pairs'],
  ])('is refused, when its name is %s, by each of get, set and delete', async (_, name, rule = '') => {
    const works: readonly Work[] = [
      (state) => state.get(name as string),
      (state) => state.set(name as string, 1),
      (state) => state.delete(name as string),
    ];
    const thrown: unknown[] = [];
    await inTurn((state) => {
      for (const work of works) {
        try {
          work(state);
        } catch (error) {
          thrown.push(error);
        }
      }
    });
    expect(thrown).toHaveLength(3);
    for (const error of thrown)
      expect(error).toMatchObject({
        message: expect.stringContaining(
          `name of a value of ctx.state must be a string of 1 to 200 characters${rule}, and this`,
        ),
      });
  });

  test('is taken up to 64 KB a resource, names included, and not a byte more', async () => {
    const name = 'é'; // two bytes
    const seen: unknown[] = [];
    await inTurn(
      (state) => state.set('other', 1), // six bytes
      (state) => {
        const room = MOST_BYTES - 6 - 2 - 2;
        try {
          state.set(name, 'x'.repeat(room + 1));
        } catch (error) {
          seen.push(error);
        }
        state.set(name, 'x'.repeat(room));
        try {
          state.set('a', 1);
        } catch (error) {
          seen.push(error);
        }
        state.set('other', 2);
      },
    );
    expect(seen).toEqual(
      [MOST_BYTES + 1, MOST_BYTES + 2].map((bytes) =>
        expect.objectContaining({
          name: 'RangeError',
          message: expect.stringMatching(
            new RegExp(`^the state of ${RESOURCE} would take ${bytes} bytes.* 65536 .*delete`),
          ),
        }),
      ),
    );
    const kept = await stored();
    expect(Object.keys(kept).toSorted()).toEqual(['other', name]);
    expect(kept.other).toBe(2);
  });

  test('has room again, when names were deleted or replaced by smaller values', async () => {
    const large = 'x'.repeat(60_000);
    await inTurn(
      (state) => state.set('a', large),
      (state) => {
        state.delete('a');
        state.set('b', large);
        state.set('b', 'small');
        state.set('c', large);
      },
    );
    expect(await stored()).toEqual({ b: 'small', c: large });
  });

  test('is what a map would hold, when events set, get and delete in any order', async () => {
    const name = fc.constantFrom('a', 'b', '__proto__', 'constructor');
    const operation = fc.oneof(
      fc.record({ do: fc.constant('set' as const), name, value: fc.jsonValue() }),
      fc.record({ do: fc.constantFrom('get' as const, 'delete' as const), name }),
      fc.record({ do: fc.constantFrom('succeed' as const, 'fail' as const) }),
    );
    const { record, start, quiet, pass, store } = stage();
    const held = new HeldHandler();
    await start({ media_available: held.handle });
    let second = 0;
    const next = async () => {
      await record({ at: EVENT_TIME + second++ * 1000 });
      await pass(500);
      return held.last;
    };
    const property = fc.asyncProperty(fc.array(operation, { maxLength: 20 }), async (operations) => {
      await store.deleteState(RESOURCE);
      let kept = new Map<string, unknown>();
      let now = new Map(kept);
      let run = await next();
      for (const one of operations) {
        const { state } = run.ctx;
        if (one.do === 'set') {
          state.set(one.name, one.value as object);
          now.set(one.name, JSON.parse(JSON.stringify(one.value)));
        } else if (one.do === 'delete') {
          state.delete(one.name);
          now.delete(one.name);
        } else if (one.do === 'get') {
          expect(state.get(one.name)).toEqual(now.get(one.name));
        } else {
          const ok = one.do === 'succeed';
          run.end(ok ? undefined : retry({ after: 2_000_000_000, reason: 'never' }));
          await quiet();
          kept = ok ? now : kept;
          now = new Map(kept);
          run = await next();
        }
      }
      run.end();
      await quiet();
      const entries = (await store.state(RESOURCE)).map(({ name: key, value }) => [key, JSON.parse(value)]);
      expect(new Map(entries as [string, unknown][])).toEqual(now);
    });
    await fc.assert(property, { numRuns: 25 });
  });
});
