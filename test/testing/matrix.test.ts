import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { defineHandlers, type HandlerContext } from '../../src/index.ts';
import { type Happening, matrix, type Scenario } from '../../src/testing/index.ts';

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

  const kit = await testReceiver({ handlers });
  await kit.deliver('channel_idle', { event_time: '2026-01-01T00:00:01+00:00', channel_id: 'c' });
  await kit.handled();
  await kit.deliver('channel_active', { event_time: '2026-01-01T00:00:00+00:00', channel_id: 'c' });
  await kit.handled();
  await kit.settled();
  // and your check
`;

test('a board that ignores ctx.late is found, with the shortest history, as a test to paste', async () => {
  const heedless = boardOf(() => true);
  await expect(matrix(onAndOff, heedless, isIdle)).rejects.toMatchObject({
    message: expect.stringContaining(`${GOES_BACK}
it is active`),
    cause: expect.objectContaining({ code: 'ERR_ASSERTION' }),
  });
});

test('a board that remembers the newest event in ctx.state is right in every history', async () => {
  const isNewest = (ctx: HandlerContext, at: string) => {
    if (String(ctx.state.get('newest') ?? '') > at) return false;
    ctx.state.set('newest', at);
    return true;
  };
  const histories = { most: 20, random: 10 };
  const happenings: Happening[] = [...onAndOff, ['channel_created', CHANNEL]];
  await matrix(happenings, boardOf(isNewest), isIdle, histories);
});

test('what only random histories show is found, and cut to what matters', async () => {
  const failures: Scenario<{ runs: number }> = async (start) => {
    const seen = { runs: 0 };
    await start({ handlers: { media_created: () => void seen.runs++ } });
    return seen;
  };
  const fewRuns = (_kit: unknown, { runs }: { runs: number }) => assert.ok(runs < 2, `${runs} runs`);
  const found = matrix([['media_created']], failures, fewRuns, { most: 3, random: 200, seed: 1 });
  const message = await found.then(String, String);
  expect(message).toContain('2 runs');
  expect(message).toContain('this history of seed 1 breaks the check:');
  expect(message.match(/failNext|kit\.replay/g)).toHaveLength(1);
  expect(message.match(/kit\.deliver/g)).toHaveLength(1);
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
