import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Api, LIST, MINUTE, NOW, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi({ now: NOW + 12_345 });
});
afterEach(() => api.close());

const limits = (headers: Headers) =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
const RESET = '2026-01-01T00:05:00.345000Z';

test('tells the limit, whatever the answer, in three headers', async () => {
  expect(limits((await api.get(LIST)).headers)).toEqual(['300', '299', RESET]);
  expect(limits((await api.get(`${LIST}/999`)).headers)).toEqual(['300', '298', RESET]);
  expect(limits((await api.request('POST', STATUSES)).headers)).toEqual(['300', '297', RESET]);
  expect(limits((await api.get('/api/v1/nowhere')).headers)).toEqual(['300', '296', RESET]);
  const json = { headers: { 'Content-Type': 'application/json' }, body: '{' };
  expect(limits((await api.request('POST', STATUSES, json)).headers)).toEqual(['300', '295', RESET]);
});

test('dates its answers, when the clock is virtual, by that clock', async () => {
  expect((await api.get(LIST)).headers.get('date')).toBe('Thu, 01 Jan 2026 00:00:12 GMT');
});

test('refuses the 301st request, when the window is not over, with 429 until it is', async () => {
  for (let n = 0; n < 300; n++) expect((await api.get(`${LIST}?limit=1`)).status).toBe(200);
  const { status, body, headers } = await api.get(LIST);
  expect([status, body]).toEqual([429, { error: 'Too many requests' }]);
  expect(limits(headers)).toEqual(['300', '0', RESET]);
  await api.clock.advance(5 * MINUTE - 12_345 - 1);
  expect((await api.get(LIST)).status).toBe(429);
  await api.clock.advance(1);
  expect(limits((await api.get(LIST)).headers)).toEqual(['300', '299', '2026-01-01T00:10:00.000000Z']);
});

test('counts for each user apart, whatever the token, and for each address without one', async () => {
  const remaining = async (token: string) =>
    (await api.get(LIST, { token })).headers.get('x-ratelimit-remaining');
  expect(await remaining('alice-rw')).toBe('299');
  expect(await remaining('alice-read')).toBe('298');
  expect(await remaining('alice-revoked')).toBe('297');
  expect(await remaining('bob-rw')).toBe('299');
  expect(await remaining('')).toBe('299');
  expect(await remaining('nobody')).toBe('298');
});
