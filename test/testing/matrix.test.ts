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

test('a board that ignores ctx.late is found, with the shortest history, as a test to paste', async () => {
  const heedless = boardOf(() => true);
  await expect(matrix(onAndOff, heedless, isIdle)).rejects.toMatchObject({
    message: expect.stringContaining(`this history breaks the check:

  const kit = await testReceiver({ handlers });
  await kit.deliver('channel_idle', { event_time: '2026-01-01T00:00:01+00:00', channel_id: 'c' });
  await kit.handled();
  await kit.deliver('channel_active', { event_time: '2026-01-01T00:00:00+00:00', channel_id: 'c' });
  await kit.handled();
  await kit.settled();
  // and your check

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
  expect(await matrix(happenings, boardOf(isNewest), isIdle, histories)).toBe(30);
});

test('what only random histories show is found, and cut to what matters', async () => {
  const failures: Scenario<{ runs: number }> = async (start) => {
    const seen = { runs: 0 };
    await start({ handlers: { media_created: () => void seen.runs++ } });
    return seen;
  };
  const fewRuns = (_kit: unknown, { runs }: { runs: number }) => assert.ok(runs < 2, `${runs} runs`);
  const found = matrix([['media_created']], failures, fewRuns, { most: 5, random: 200, seed: 1 });
  const message = await found.then(String, String);
  expect(message).toContain('2 runs');
  expect(message.match(/failNext/g)).toHaveLength(1);
  expect(message.match(/kit\.deliver/g)).toHaveLength(1);
});
