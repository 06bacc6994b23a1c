import { describe, expect, test } from '@jest/globals';
import type { HandlerContext } from '../../src/dispatch/handler.ts';
import { fail } from '../../src/dispatch/outcome.ts';
import { away, eachWithStage } from './stage.ts';

const stage = eachWithStage();
const MOST_BYTES = 1024 * 1024;

/** A handler of what a test does with `ctx`, and the errors and results of that. */
function doing(work: (ctx: HandlerContext) => unknown) {
  const seen: unknown[] = [];
  const media_available = async (_event: unknown, ctx: HandlerContext) => {
    seen.push(await work(ctx));
  };
  return { handlers: { media_available }, seen };
}

describe('ctx.once', () => {
  test('runs its step once, whatever retries and replays come, and gives the stored result, the same the first time and ever after', async () => {
    const { store, record, start, pass } = stage();
    await record();
    let runs = 0;
    const { handlers, seen } = doing(async (ctx) => {
      const result = await ctx.once('announce', () => ({
        at: new Date(0),
        none: Number.NaN,
        list: [undefined],
        run: ++runs,
      }));
      seen.push(result);
      if (seen.length === 1) throw new Error('after the step');
      return result;
    });
    await start(handlers);
    await pass(10_000);
    await store.queue.replay({});
    await pass(2000);
    expect(seen.length).toBeGreaterThanOrEqual(4);
    for (const result of seen)
      expect(result).toStrictEqual({ at: '1970-01-01T00:00:00.000Z', none: null, list: [null], run: 1 });
    await store.queue.replay({}, { resetSteps: true });
    await pass(2000);
    expect(runs).toBe(2);
  });

  test('throws, when its name is none, or the step is under way or done in this run; it may be called again where it threw, and by another event', async () => {
    const { record, start } = stage();
    await record();
    await record({ media_id: 'other' });
    const sent: string[] = [];
    const { handlers, seen } = doing(async (ctx) => {
      const call = (step: string, fn: () => unknown) => ctx.once(step, fn).catch((error) => error.message);
      const send = (name: string) => call('send', () => sent.push(name));
      const atOnce = await Promise.all([send('a'), send('b')]);
      const failed = await call('fail', () => Promise.reject(new Error('no connection')));
      const nameless = await call('a\0b', () => sent.push('b'));
      return [...atOnce, await send('c'), failed, await call('fail', () => 'done'), nameless];
    });
    await start(handlers);
    const twice = expect.stringMatching(/^the step "send" of ctx.once is called twice in one run: give each/);
    const none = expect.stringMatching(/string of 1 to 200 characters, without NUL/);
    expect(seen).toEqual([1, 2].map((count) => [count, twice, twice, 'no connection', 'done', none]));
    expect(sent).toEqual(['a', 'a']);
  });

  test.each([
    ['a BigInt', () => 1n, /serialize a BigInt/],
    ['a function', () => () => 1, /is no JSON value/],
    ['more than a megabyte', () => 'x'.repeat(MOST_BYTES - 1), /takes 1048577 bytes as JSON/],
  ])('ends its event as dead, and stores no state, when a step gives %s', async (_, result, error) => {
    const { store, record, start, event } = stage();
    const id = await record();
    const { handlers } = doing((ctx) => {
      ctx.state.set('a', 1);
      return ctx.once('announce', result as () => unknown).catch(() => undefined);
    });
    await start(handlers);
    expect(await event(id)).toMatchObject({ status: 'dead', lastError: expect.stringMatching(error) });
    expect(await store.queue.state({ resource: 'media:media-1' })).toEqual([]);
  });
});

test('a handler that returns while a step still runs has failed, whatever it returns; the next attempt has the result, and no step begins after its end', async () => {
  const { store, record, start, pass, quiet, event } = stage();
  const id = await record();
  const step = Promise.withResolvers<string>();
  const ran: number[] = [];
  const results: unknown[] = [];
  let later = async () => 0;
  await start({
    async media_available(_event, ctx) {
      const charged = ctx.once('charge', () => {
        ran.push(ctx.attempt);
        return step.promise;
      });
      if (ctx.attempt === 1) return fail('never');
      results.push(await charged);
      later = () => ctx.once('later', () => ran.push(0));
    },
  });
  expect(await event(id)).toMatchObject({ status: 'running' });
  step.resolve('charged');
  await quiet();
  const error = 'the handler returned while "charge" of ctx.once still ran: await each ctx.once';
  expect(await store.queue.attempts({ id })).toMatchObject([{ outcome: 'error', error }]);
  await pass(60_000);
  expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
  await expect(later()).rejects.toThrow(/step "later" of ctx.once has ended .*: it does not run/);
  expect({ ran, results }).toEqual({ ran: [1], results: ['charged'] });
});

test.each(['step', 'saveStep'] as const)(
  'a step waits for the store, when %s fails, and runs once',
  async (method) => {
    const { record, start, pass, event, logged } = stage();
    let runs = 0;
    const { handlers } = doing((ctx) => ctx.once('announce', () => ++runs));
    const { intercept } = await start(handlers);
    let left = 4;
    intercept(method, () => {
      if (left-- > 0) away();
    });
    const id = await record();
    await pass(10_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
    expect(runs).toBe(1);
    expect(logged('the store does not answer; trying again')).toMatchObject([{ event: id }]);
  },
);

test('ctx tells id, attempt, replay, late and time of receipt, and its log names the event', async () => {
  const { clock, store, record, start, pass, logged } = stage();
  const receivedAt = new Date(clock.now());
  const id = await record();
  const { handlers, seen } = doing(({ id, attempt, replay, late, receivedAt, signal, log }) => {
    log.info('from the handler');
    if (seen.length === 0) throw new Error(`attempt ${seen.push({ id, attempt, replay, late, receivedAt })}`);
    return { id, attempt, replay, late, receivedAt, isAborted: signal.aborted };
  });
  await start(handlers);
  await pass(5000);
  await store.queue.replay({ ids: [id] });
  await pass(2000);
  const older = await record({ at: Date.UTC(2020, 0, 1) });
  await pass(2000);
  expect(seen).toMatchObject([
    { id, attempt: 1, replay: false, late: false, receivedAt },
    { id, attempt: 2, replay: false, late: false, receivedAt, isAborted: false },
    { id, attempt: 1, replay: true, late: false },
    { id: older, attempt: 1, replay: false, late: true },
  ]);
  expect(logged('from the handler')[0]).toMatchObject({
    event: id,
    kind: 'media_available',
    resource: 'media:media-1',
    attempt: 1,
  });
});
