import { describe, expect, test } from '@jest/globals';
import { defineHandlers, type HandlerContext, skip } from '../../src/dispatch/handler.ts';
import { eachWithStage } from '../support/dispatch-stage.ts';
import { only } from '../support/only.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());

/** Handlers that note what they are told, and fail in their first so many runs. */
function noting(failures = 0) {
  const seen: Pick<HandlerContext, 'id' | 'attempt' | 'replay' | 'late' | 'receivedAt'>[] = [];
  const media_available = async (_event: unknown, ctx: HandlerContext) => {
    const { id, attempt, replay, late, receivedAt } = ctx;
    seen.push({ id, attempt, replay, late, receivedAt });
    if (seen.length <= failures) throw new Error('not yet');
  };
  return { handlers: defineHandlers({ media_available }), seen };
}

describe('the context of a handler', () => {
  test('tells id, attempt and time of receipt, when an event comes for the first time', async () => {
    const { clock, record, start } = stage();
    const id = await record();
    const receivedAt = new Date(clock.now());
    await clock.advance(5000);
    const { handlers, seen } = noting();
    await start(handlers);
    expect(seen).toEqual([{ id, attempt: 1, replay: false, late: false, receivedAt }]);
  });

  test('counts the attempts, when the handler fails, and says that it is no replay', async () => {
    const { record, start, pass } = stage();
    await record();
    const { handlers, seen } = noting(2);
    await start(handlers);
    await pass(10_000);
    expect(seen.map(({ attempt, replay }) => [attempt, replay])).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
  });

  test('says that it is a replay, when one was asked for, with attempts from 1 on', async () => {
    const { store, record, start, pass } = stage();
    const id = await record();
    const { handlers, seen } = noting();
    await start(handlers);
    await store.replay({ ids: [id] });
    await pass(500);
    expect(seen).toMatchObject([
      { id, attempt: 1, replay: false },
      { id, attempt: 1, replay: true },
    ]);
  });

  test('says that an event is late, when a newer one of its media was handled before', async () => {
    const { record, start, pass } = stage();
    await record({ at: EVENT_TIME + 1000 });
    const { handlers, seen } = noting();
    await start(handlers);
    await record({ at: EVENT_TIME });
    await record({ at: EVENT_TIME, media_id: 'other' });
    await pass(500);
    expect(seen.map(({ late }) => late).sort()).toEqual([false, false, true]);
  });

  test('has a signal that is not aborted and a log that names the event, when it begins', async () => {
    const { logged, record, start } = stage();
    const id = await record();
    const aborted: boolean[] = [];
    await start(
      defineHandlers({
        media_available(_event, ctx) {
          aborted.push(ctx.signal.aborted);
          ctx.log.info({ mine: 1 }, 'from the handler');
        },
      }),
    );
    expect(aborted).toEqual([false]);
    expect(only(logged('from the handler'))).toMatchObject({
      event: id,
      kind: 'media_available',
      resource: 'media:media-1',
      attempt: 1,
      mine: 1,
    });
  });
});

describe('ctx.once', () => {
  /** A handler with one step, which fails after it in its first so many runs. */
  function stepping(failures: number) {
    const results: unknown[] = [];
    let steps = 0;
    const media_available = async (_event: unknown, ctx: HandlerContext) => {
      results.push(await ctx.once('announce', async () => ({ number: ++steps })));
      if (results.length <= failures) throw new Error('after the step');
    };
    return { handlers: defineHandlers({ media_available }), results };
  }

  test('runs its step once, when the handler fails after it, and gives the result to every attempt', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const { handlers, results } = stepping(2);
    await start(handlers);
    await pass(10_000);
    expect(results).toEqual([{ number: 1 }, { number: 1 }, { number: 1 }]);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 3 });
  });

  test('does not run its step again, when the event is replayed, unless the steps are reset', async () => {
    const { store, record, start, pass } = stage();
    await record();
    const { handlers, results } = stepping(0);
    await start(handlers);
    await store.replay({});
    await pass(500);
    await store.replay({}, { resetSteps: true });
    await pass(500);
    expect(results).toEqual([{ number: 1 }, { number: 1 }, { number: 2 }]);
  });

  test('runs its step for each event, when several events have a step of that name', async () => {
    const { record, start } = stage();
    for (const media_id of ['a', 'b', 'c']) await record({ media_id });
    const { handlers, results } = stepping(0);
    await start(handlers);
    expect(results).toHaveLength(3);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(3);
  });
});

describe('the dispatcher, for an event that no handler takes,', () => {
  test.each([
    ['its kind is not in the list', { event: 'media_exploded' }, 'skipped', 'unknown kind "media_exploded"'],
    ['its kind has no handler', {}, 'skipped', 'no handler for media_available'],
    ['its payload misses a member', { media_id: undefined }, 'dead', 'invalid payload: media_id'],
  ])('ends it, when %s, with the reason', async (_, members, status, reason) => {
    const { record, start, event } = stage();
    const id = await record(members);
    await start({});
    expect(await event(id)).toMatchObject({
      status,
      lastError: expect.stringContaining(reason),
      attempts: 1,
    });
  });

  test('hands it to a handler, when it is replayed once the code knows better', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record({ event: 'media_exploded' });
    const { dispatcher } = await start({});
    await dispatcher.stop(0);
    await store.replay({ status: 'skipped' });
    await start({ unknown: (notification) => skip(`seen ${notification.event}`) });
    await pass(500);
    expect(await event(id)).toMatchObject({
      status: 'skipped',
      lastError: 'seen media_exploded',
      replays: 1,
    });
  });
});
