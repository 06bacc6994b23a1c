import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { checkClock } from '../../src/provider/check-clock.ts';
import { answeringServers } from '../support/answering-servers.ts';

const answering = answeringServers();

describe('the clock', () => {
  const now = Date.UTC(2026, 0, 1);
  test.each([
    [0, 'ok'],
    [-4000, 'ok'],
    [20_000, 'warn'],
    [-31_500, 'FAIL'],
    [3_600_000, 'FAIL'],
  ])('is judged, when the provider is %d ms ahead: %s', async (ahead, result) => {
    const url = await answering(404, { Date: new Date(now + ahead).toUTCString() });
    expect((await checkClock(url, new VirtualClock(now))).result).toBe(result);
  });

  test('is not judged, when the provider tells no time or does not answer', async () => {
    const url = await answering(200, { 'X-No-Date': '1' });
    expect((await checkClock(url, new VirtualClock(now))).result).toBe('skipped');
    expect(await checkClock('http://127.0.0.1:9', new VirtualClock(now))).toMatchObject({
      result: 'skipped',
    });
  });
});
