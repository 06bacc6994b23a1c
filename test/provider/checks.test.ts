import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { checkClock, reach } from '../../src/provider/checks.ts';
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

const challenge = { 'WWW-Authenticate': 'Bearer' };
test.each([
  ['a receiver of ours', 401, { error: '...' }, challenge, 'ok'],
  ['a receiver that stops', 503, { error: 'shutting down' }, {}, 'warn'],
  ['a 401 with other words', 401, { message: 'no' }, challenge, 'FAIL'],
  ['a receiver that takes anything', 200, 'ok', {}, 'FAIL'],
])('a URL is judged, when it leads to %s', async (_case, status, json, headers, result) => {
  const { url } = await scripted([status, json, headers as Record<string, string>]);
  expect((await reach(url)).result).toBe(result);
});
