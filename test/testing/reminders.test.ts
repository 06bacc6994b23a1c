import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { defineApp, defineHandlers, type Handlers, retry, skip } from '../../src/index.ts';
import { everyCrash, type Happening, matrix, type Scenario, testReceiver } from '../../src/testing/index.ts';

const MINUTE = 60_000;
const C = { channel_id: 'C' };
const IDLE: Happening = ['channel_idle', C];
const ACTIVE: Happening = ['channel_active', C];

const at = (ms: number) => new Date(ms).toISOString().slice(11, 23);

/** Closes the incident of a channel five minutes after it went idle, unless it is back; notes when. */
function closing(closed: string[]): Handlers {
  return defineHandlers({
    channel_idle: (_event, ctx) => ctx.remind('close', { after: 5 * MINUTE, data: { was: 'idle' } }),
    channel_active: (_event, ctx) => ctx.forget('close'),
    reminder: ({ due_at }, ctx) =>
      void closed.push(`${at(ctx.now())} ${at(Date.parse(due_at))} ${ctx.attempt}`),
  });
}

test('a reminder that is set is shown, waits for advance, and comes at its very moment', async () => {
  const closed: string[] = [];
  await using kit = await testReceiver({ handlers: closing(closed) });
  await kit.deliver(...IDLE);
  await kit.settled();
  expect(kit.now() - Date.UTC(2026, 0, 1)).toBeLessThan(100);
  const [set] = await kit.reminders();
  expect(set).toMatchObject({ name: 'close', resource: 'channel:C', subscriber: '', data: { was: 'idle' } });
  expect(set).toMatchObject({ setBy: (await kit.event()).id, dueAt: (set?.setAt ?? 0) + 5 * MINUTE });
  await kit.advance('4m');
  await kit.settled();
  expect(closed).toEqual([]);
  await kit.advance('1h');
  const due = at(set?.dueAt ?? 0);
  expect(closed).toEqual([`${due} ${due} 1`]);
  const [event] = await kit.events({ kind: 'reminder' });
  expect(event).toMatchObject({ status: 'handled', origin: 'reminder', notification: { name: 'close' } });
  expect(await kit.replay()).toBe(1);
  await kit.settled();
  expect(closed).toHaveLength(1);
  expect(await kit.replay({ kind: 'reminder' })).toBe(1);
  await kit.settled();
  expect(closed).toHaveLength(2);
});

test('settled lets reminders come that are due while events wait for retries, and no others', async () => {
  const came: string[] = [];
  const handlers = defineHandlers({
    media_available: (_event, ctx) => {
      if (ctx.attempt === 1) ctx.remind('near', { after: MINUTE });
      if (ctx.attempt === 1) ctx.remind('far', { after: 11 * MINUTE });
      if (ctx.attempt === 1) return retry({ after: 10 * MINUTE, reason: 'not yet' });
    },
    reminder: ({ name }, ctx) => void came.push(`${name} ${at(ctx.now())}`),
  });
  await using kit = await testReceiver({ handlers });
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  expect(came).toEqual([expect.stringMatching(/^near 00:01:00/)]);
  expect(await kit.reminders()).toMatchObject([{ name: 'far' }]);
  await kit.advance('reminder');
  expect(came).toHaveLength(2);
  const before = kit.now();
  await kit.advance('reminder');
  expect(kit.now()).toBe(before);
});

test.each([0, 1000])(
  'a reminder that is set again and again every %s ms is named, and hangs nothing',
  async (after) => {
    const handlers = defineHandlers({
      channel_idle: (_event, ctx) => {
        ctx.remind('poll', { after });
        if (ctx.attempt === 1) return retry({ after: 60 * MINUTE, reason: 'not yet' });
      },
      reminder: (_event, ctx) => ctx.remind('poll', { after }),
    });
    await using kit = await testReceiver({ handlers });
    await kit.deliver(...IDLE);
    await expect(kit.settled()).rejects.toThrow('reminders come again and again, as "poll" of channel:C');
  },
);

test('ticks come by advance at their very moments, not by settled; of those missed the last comes then', async () => {
  const ticks: string[] = [];
  const app = defineApp({
    handlers: {
      media_available: (_event, ctx) =>
        ctx.attempt === 1 ? retry({ after: 65 * MINUTE, reason: 'not yet' }) : undefined,
    },
    schedule: {
      digest: {
        every: '10m',
        run: ({ due_at }, ctx) => void ticks.push(`${at(ctx.now())} ${at(Date.parse(due_at))}`),
      },
    },
  });
  await using kit = await testReceiver({ app });
  await kit.advance('20m');
  expect(ticks).toEqual(['00:10:00.000 00:10:00.000', '00:20:00.000 00:20:00.000']);
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  expect(ticks).toHaveLength(2);
  expect(at(kit.now())).toMatch(/^01:25/);
  await kit.handled();
  await kit.advance('5m');
  const last = ['01:30:00.000 01:30:00.000'];
  expect(ticks.slice(2)).toEqual([expect.stringMatching(/^01:25:.* 01:20:00.000$/), ...last]);
  const [tick] = await kit.events({ kind: 'schedule:digest' });
  expect(tick).toMatchObject({ status: 'handled', resource: 'schedule:digest' });
});

type Board = Map<string, string>;

const isOlder = (ctx: { state: { get(name: string): unknown } }, time: string) =>
  Number(ctx.state.get('newest') ?? 0) > Date.parse(time);

const boards =
  (handlersOf: (board: Board) => Handlers): Scenario<Board> =>
  async (start) => {
    const board: Board = new Map();
    await start({ handlers: handlersOf(board) });
    return board;
  };

const incident = (isForgetting: boolean) => (board: Board) =>
  defineHandlers({
    channel_idle(event, ctx) {
      if (isOlder(ctx, event.event_time)) return skip('older');
      ctx.state.set('newest', Date.parse(event.event_time));
      board.set(event.channel_id, 'idle');
      ctx.remind('close', { after: 5 * MINUTE });
    },
    channel_active(event, ctx) {
      if (isOlder(ctx, event.event_time)) return skip('older');
      ctx.state.set('newest', Date.parse(event.event_time));
      board.set(event.channel_id, 'active');
      if (isForgetting) ctx.forget('close');
    },
    reminder: ({ channel_id = '' }) => void board.set(channel_id, 'closed'),
  });

const isActive = (_kit: unknown, board: Board) => assert.equal(board.get('C'), 'active');
const FEW = { random: 5, seed: 1 };

test('matrix lets a reminder come due before, between and after notifications, each order once', async () => {
  const orders = new Set<string>();
  let seen: string[] = [];
  const noting = (): Handlers => {
    seen = [];
    return {
      channel_idle(_event, ctx) {
        seen.push('idle');
        ctx.remind('close', { after: MINUTE });
      },
      channel_active(_event, ctx) {
        seen.push('active');
        ctx.forget('close');
      },
      channel_created: () => void seen.push('created'),
      reminder: () => void seen.push('due'),
    };
  };
  const check = () => void orders.add(seen.join(' '));
  await matrix([IDLE, ACTIVE, ['channel_created', C]], boards(noting), check, { most: 40, random: 0 });
  for (const order of ['idle due active created', 'idle active created', 'created active idle due'])
    expect(orders).toContain(order);
  for (const order of ['idle created active', 'idle created due active', 'idle due created active'])
    expect(orders).toContain(order);
});

test('matrix finds a reminder that nobody forgets, with its end in the test to paste', async () => {
  await matrix([IDLE, ACTIVE], boards(incident(true)), isActive, FEW);
  const { message } = await matrix([IDLE, ACTIVE], boards(incident(false)), isActive, FEW).catch(
    (its) => its,
  );
  expect(message).toContain(`
  await kit.settled();
  await kit.advance('reminder');
  await kit.settled();
  // and your check
`);
});

test('everyCrash kills the process at the settlement of reminders and ticks', async () => {
  const scenario: Scenario<string[]> = async (start) => {
    const closed: string[] = [];
    const run = () => void closed.push('tick');
    const app = () => defineApp({ handlers: closing(closed), schedule: { digest: { every: '1h', run } } });
    const kit = await start({ app });
    await kit.deliver(...IDLE);
    await kit.settled();
    await kit.advance('1h');
    return closed;
  };
  const areTwo = (_kit: unknown, closed: string[]) => assert.equal(closed.length, 2);
  await expect(everyCrash(scenario, areTwo)).rejects.toThrow('a crash before settle reminder breaks');
  const tick = { only: 'before settle schedule:digest' };
  await expect(everyCrash(scenario, areTwo, tick)).rejects.toThrow('a crash before settle schedule:digest');
});
