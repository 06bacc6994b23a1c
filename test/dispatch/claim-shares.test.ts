import { beforeEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { ClaimShares } from '../../src/dispatch/claim-shares.ts';
import type { Claim } from '../../src/store/event-store.ts';

let clock: VirtualClock;
let shares: ClaimShares;
beforeEach(() => {
  clock = new VirtualClock();
  shares = new ClaimShares(clock);
});

/** A claim of an event that was received so many milliseconds before. */
const claimOf = (ageMs: number, replays = 0) =>
  ({ replays, startedAt: 10_000, receivedAt: 10_000 - ageMs }) as Claim;

const OLD = claimOf(1001);
const YOUNG = claimOf(1000);
const REPLAY = claimOf(1001, 1);

function come(events: number): void {
  for (let event = 0; event < events; event++) shares.came();
}

/** Asks for so many events and gets these, as many as it asked for or fewer. @returns how many were to be the newest */
function claim(limit: number, got: readonly Claim[], isAll = true): number {
  const asked = shares.asked(limit);
  expect(asked.replayed).toBeLessThanOrEqual(Math.ceil(limit / 4));
  shares.got(got, asked, isAll);
  return asked.newest;
}

/** A claim of a backlog. */
const four = (one: Claim) => [one, one, one, one];

describe('the share of the newest', () => {
  test('is one in four, however many have come, when nothing old waits', () => {
    come(100);
    expect([claim(4, four(YOUNG)), claim(4, four(YOUNG)), claim(16, four(YOUNG))]).toEqual([1, 1, 4]);
  });

  test('is one in four, when an old backlog waits and nothing has come', () => {
    expect([claim(4, four(OLD)), claim(4, four(OLD)), claim(16, four(OLD))]).toEqual([1, 1, 4]);
  });

  test.each([
    [0, 4],
    [4, 4],
    [5, 5],
    [11, 11],
    [12, 12],
    [100, 12],
  ])('is, when an old backlog waits and %i have come, %i of 16', (came, newest) => {
    claim(16, four(OLD));
    come(came);
    expect(claim(16, four(OLD))).toBe(newest);
  });

  test('catches up, when more came at once than it may have', () => {
    claim(16, four(OLD));
    come(30);
    const claims = [1, 2, 3, 4].map(() => claim(16, four(OLD)));
    expect(claims).toEqual([12, 12, 6, 4]);
  });

  test('is half at most, when a replay had its turn, until none is left', () => {
    claim(16, four(OLD));
    come(100);
    expect(claim(16, [OLD, REPLAY])).toBe(12);
    expect(claim(16, four(OLD))).toBe(8);
    expect(claim(16, four(OLD))).toBe(12);
  });

  test('is one in four again, when a claim took all that was ready', () => {
    claim(16, four(OLD));
    come(100);
    claim(16, four(OLD), false);
    claim(16, four(OLD));
    expect(claim(16, four(OLD))).toBe(4);
  });

  test('counts what comes while a claim is under way, which may be without it', () => {
    claim(16, four(OLD));
    const asked = shares.asked(16);
    come(10);
    shares.got(four(OLD), asked, true);
    expect(claim(16, four(OLD))).toBe(10);
    const another = shares.asked(16);
    come(10);
    shares.got([OLD], another, false);
    expect([claim(16, four(OLD)), claim(16, four(OLD))]).toEqual([4, 6]);
  });

  test('is one in four again, when what came has waited for so long that it is part of the backlog', async () => {
    claim(16, four(OLD));
    come(1000);
    await clock.advance(2499);
    expect(claim(16, four(OLD))).toBe(12);
    await clock.advance(2500);
    expect(claim(16, four(OLD))).toBe(12);
    await clock.advance(2500);
    expect(claim(16, four(OLD))).toBe(4);
  });

  test('goes by turns, when events are claimed one at a time', () => {
    const turns = () => Array.from({ length: 8 }, () => claim(1, [OLD]));
    expect(turns()).toEqual([0, 0, 0, 1, 0, 0, 0, 1]);
    come(100);
    expect(turns()).toEqual([0, 1, 1, 1, 0, 1, 1, 1]);
  });
});
