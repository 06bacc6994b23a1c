import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { keepFor } from '../../src/store/retention.ts';
import { logLines } from '../support/log-lines.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

interface Call {
  readonly at: number;
  readonly handledBefore: number;
  readonly limit: number;
}

/** Retention over a store that holds `old` events to prune, on a clock that starts at 0. */
function retention(old: number, prune?: (call: Call) => Promise<number>, apartMs = 0) {
  const clock = new VirtualClock(0);
  const { log, withMessage: logged } = logLines();
  const calls: Call[] = [];
  let left = old;
  const store = {
    clock: async () => ({ now: clock.now() + apartMs, newestAt: undefined }),
    readClock: async () => undefined,
    async prune(handledBefore: number, limit: number) {
      const call = { at: clock.now(), handledBefore, limit };
      calls.push(call);
      if (prune) return prune(call);
      const pruned = Math.min(left, limit);
      left -= pruned;
      return pruned;
    },
  };
  const stop = keepFor({ store, clock, log, days: 30 });
  return { clock, calls, logged, stop, left: () => left };
}

describe('keepFor', () => {
  test('prunes what ended so many days ago, when it starts, and every hour from then on', async () => {
    const { clock, calls, stop } = retention(0);
    await clock.advance(2 * HOUR_MS);
    expect(calls.map(({ at }) => at)).toEqual([0, HOUR_MS, 2 * HOUR_MS]);
    expect(calls.map(({ at, handledBefore }) => at - handledBefore)).toEqual(calls.map(() => 30 * DAY_MS));
    stop();
  });

  test('goes in small steps with pauses between them, when much is old, until nothing is left', async () => {
    const { clock, calls, stop, left } = retention(10_000);
    await clock.advance(HOUR_MS - 1);
    expect(left()).toBe(0);
    const [step] = new Set(calls.map(({ limit }) => limit));
    expect(step).toBeLessThanOrEqual(1000);
    expect(calls.length).toBe(Math.floor(10_000 / (step ?? 1)) + 1);
    const pauses = calls.slice(1).map(({ at }, index) => at - (calls[index]?.at ?? at));
    expect(Math.min(...pauses)).toBeGreaterThan(0);
    stop();
  });

  test('tells once how many were pruned, when a round is over, and nothing when there were none', async () => {
    const { clock, logged, stop } = retention(1000);
    await clock.advance(3 * HOUR_MS);
    expect(logged('old events pruned')).toMatchObject([{ pruned: 1000, days: 30 }]);
    stop();
  });

  test('tries again in an hour, when the store fails, and says so', async () => {
    const { clock, calls, logged, stop } = retention(0, async ({ at }) => {
      if (at === 0) throw new Error('the disk is full');
      return 3;
    });
    await clock.advance(HOUR_MS);
    expect(calls.map(({ at }) => at)).toEqual([0, HOUR_MS]);
    expect(logged('cannot prune; trying again in an hour')).toMatchObject([{ error: 'the disk is full' }]);
    expect(logged('old events pruned')).toMatchObject([{ pruned: 3 }]);
    stop();
  });

  test('prunes nothing, when the clock of the store is another one, and says so', async () => {
    const { calls, clock, logged, stop } = retention(10, undefined, -40 * DAY_MS);
    await clock.advance(HOUR_MS);
    expect(calls).toEqual([]);
    expect(logged('cannot prune; trying again in an hour')[0]?.error).toBe(
      "the clock of this process is 960 h 0 min ahead of the database's: set it right first, since nothing is pruned while they differ by more than a minute",
    );
    stop();
  });

  test('prunes no more, when it was stopped, and leaves no timer', async () => {
    const { clock, calls, stop } = retention(10_000);
    await clock.advance(60);
    const before = calls.length;
    stop();
    await clock.advance(DAY_MS);
    expect(calls).toHaveLength(before);
    expect(clock.nextDue()).toBeUndefined();
  });

  test('prunes no more, when it was stopped in the middle of a step, and leaves no timer', async () => {
    const step = Promise.withResolvers<number>();
    const { clock, calls, stop } = retention(0, () => step.promise);
    const advancing = clock.advance(1);
    stop();
    step.resolve(1000);
    await advancing;
    await clock.advance(DAY_MS);
    expect(calls).toHaveLength(1);
    expect(clock.nextDue()).toBeUndefined();
  });
});
