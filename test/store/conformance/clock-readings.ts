import { describe, expect, test } from '@jest/globals';
import type { CurrentFixture } from '../../support/store-fixture.ts';

const MINUTE_MS = 60_000;
const BOOT = Date.UTC(2026, 10, 1);

export function describeClockReadings(fixture: CurrentFixture): void {
  describe('a reading of the clock', () => {
    /** A machine whose clock is `by` milliseconds ahead, after it has run for so long. */
    const read = (sinceBootMs: number, by = 0, machine = 'a') =>
      fixture().store.readClock({ machine, sinceBootMs, now: BOOT + sinceBootMs + by });

    test('tells when the clock was set, when it is by more than a minute, and goes on to tell it', async () => {
      expect(await read(1000)).toBeUndefined();
      expect(await read(5000, MINUTE_MS)).toBeUndefined();
      expect(await read(9000, 2 * MINUTE_MS)).toBeUndefined();
      const ahead = { at: BOOT + 10_000 + 4 * MINUTE_MS, by: 2 * MINUTE_MS };
      expect(await read(10_000, 4 * MINUTE_MS)).toEqual(ahead);
      expect(await read(99_000, 4 * MINUTE_MS)).toEqual(ahead);
      const back = { at: BOOT + 100_000, by: -4 * MINUTE_MS };
      expect(await read(100_000)).toEqual(back);
      expect(await read(200_000, 100)).toEqual(back);
    });

    test('tells it of no machine that was not read before, as a start of one', async () => {
      await read(50_000);
      expect(await read(90_000, -40 * MINUTE_MS, 'b')).toBeUndefined();
      const set = { at: BOOT + 91_000, by: 40 * MINUTE_MS };
      expect(await read(91_000, 0, 'b')).toEqual(set);
      expect(await read(92_000)).toEqual(set);
    });

    test('tells one change once, when several machines see it', async () => {
      for (const machine of ['a', 'b', 'c']) await read(1000, 0, machine);
      const set = { at: BOOT + 10_000 + 90 * MINUTE_MS, by: 90 * MINUTE_MS };
      expect(await read(10_000, 90 * MINUTE_MS, 'a')).toEqual(set);
      expect(await read(50_000, 90 * MINUTE_MS + 100, 'b')).toEqual(set);
      expect(await read(3_000_000, 90 * MINUTE_MS, 'c')).toEqual(set);
      expect(await read(3_100_000, 0, 'c')).toMatchObject({ by: -90 * MINUTE_MS });
    });

    test('is of the machine that was read last, when there are many', async () => {
      for (let machine = 0; machine < 200; machine++) await read(1000, 0, `m${machine}`);
      expect(await read(2000, 5 * MINUTE_MS, 'm199')).toMatchObject({ by: 5 * MINUTE_MS });
    });
  });
}
