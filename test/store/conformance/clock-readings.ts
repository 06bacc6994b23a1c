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

    test('tells it of no machine that was started anew since, and of none that was not read before', async () => {
      await read(50_000);
      expect(await read(1000, 40 * MINUTE_MS)).toBeUndefined();
      expect(await read(90_000, -40 * MINUTE_MS, 'b')).toBeUndefined();
      const set = { at: BOOT + 91_000, by: 40 * MINUTE_MS };
      expect(await read(91_000, 0, 'b')).toEqual(set);
      expect(await read(2000, 40 * MINUTE_MS)).toEqual(set);
    });

    test('knows the machines that were read last, when there are many, in little room', async () => {
      for (let machine = 0; machine < 40; machine++) await read(1000, 0, `m${machine}`);
      expect(await read(2000, 5 * MINUTE_MS, 'm0')).toBeUndefined();
      expect(await read(2000, 5 * MINUTE_MS, 'm39')).toMatchObject({ by: 5 * MINUTE_MS });
    });
  });
}
