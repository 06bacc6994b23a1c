import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { checkClock, reach } from '../../src/provider/checks.ts';
import { NO_TOKEN, THROTTLED, UNVERIFIED } from '../../src/receiver/verdict.ts';
import { scripted } from './support.ts';

const NOW = Date.UTC(2026, 0, 1);

test.each([
  [-4000, 'ok'],
  [20_000, 'warn'],
  [-31_500, 'FAIL'],
])('the clock is judged, when the provider is %d ms ahead: %s', async (ahead, result) => {
  const { url } = await scripted([404, {}, { Date: new Date(NOW + ahead).toUTCString() }]);
  expect((await checkClock(url, new VirtualClock(NOW))).result).toBe(result);
});

test.each([
  ['a receiver of ours', 401, { error: UNVERIFIED.error }, 'ok', 'with its token'],
  ['one that has been asked often', 429, { error: THROTTLED.error }, 'ok', 'with its token'],
  ['one behind a proxy that drops the token', 401, { error: NO_TOKEN.error }, 'FAIL', 'Authorization'],
  ['a receiver that stops', 503, { error: 'shutting down' }, 'FAIL', 'no receiver behind it'],
  ['a 401 with other words', 401, { message: 'no' }, 'FAIL', 'WEBHOOK_PATH'],
  ['a receiver that takes anything', 200, 'ok', 'FAIL', 'WEBHOOK_PATH'],
])('a URL is judged, when it leads to %s', async (_case, status, json, result, detail) => {
  const { url } = await scripted([status, json, {}]);
  expect(await reach(url)).toMatchObject({ result, detail: expect.stringContaining(detail) });
});
