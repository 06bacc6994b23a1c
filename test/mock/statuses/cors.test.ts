import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, LIST, MEDIA, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const Origin = 'https://app.example';
const preflight = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${api.url}${path}`, {
    method: 'OPTIONS',
    headers: { Origin, 'Access-Control-Request-Method': 'POST', ...headers },
  });

describe('a preflight', () => {
  test.each([LIST, `${LIST}/1`, STATUSES, MEDIA, '/api/v1/instance', '/api/v1/nothing/there', '/api/%ff'])(
    'is answered, when a page of another origin asks for %s, with 200 and what it may send',
    async (path) => {
      const asked = 'authorization,content-type,idempotency-key,x-of-its-own';
      const answer = await preflight(path, { 'Access-Control-Request-Headers': asked });
      expect([answer.status, await answer.text()]).toEqual([200, '']);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST, PUT, DELETE, GET, PATCH, OPTIONS',
        'access-control-allow-headers': asked,
      });
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    },
  );

  test('does not count, when there are more than the limit, against the requests of its address', async () => {
    for (let round = 0; round < 310; round++) await (await preflight(STATUSES)).arrayBuffer();
    const { headers, status } = await api.get('/api/v1/instance', { token: '' });
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, '299']);
  });
});

describe('every answer', () => {
  const OPEN = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers':
      'Link, X-RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id',
  };
  test.each([
    [200, 'GET', LIST, {}],
    [401, 'GET', LIST, { token: 'nobody' }],
    [403, 'GET', LIST, { token: 'alice-write' }],
    [404, 'GET', `${LIST}/999`, {}],
    [404, 'POST', '/api/v1/nothing', {}],
    [422, 'GET', LIST, { token: 'app-only' }],
    [422, 'POST', STATUSES, { json: {} }],
    [400, 'POST', STATUSES, { body: '{', headers: { 'Content-Type': 'application/json' } }],
    [400, 'GET', '/api/v1/statuses/%ff', {}],
    [
      413,
      'POST',
      STATUSES,
      { body: 'x'.repeat(17_000_000), headers: { 'Content-Type': 'application/json' } },
    ],
  ])('is open to pages, when it is %i to %s %s', async (status, method, path, sent) => {
    const answer = await api.request(method, path, sent);
    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject(OPEN);
  });

  test('is open to pages, when it is 429, with the headers that say when to come again', async () => {
    for (let round = 0; round < 300; round++) await api.get('/api/v1/instance', { token: '' });
    const answer = await api.get('/api/v1/instance', { token: '' });
    expect(answer.status).toBe(429);
    expect(Object.fromEntries(answer.headers)).toMatchObject({ ...OPEN, 'x-ratelimit-remaining': '0' });
  });

  test('has an X-Request-Id, when none was sent one of its own, else the one that was, fit for a header', async () => {
    const ids = new Set<string | null>();
    for (let round = 0; round < 5; round++) ids.add((await api.get(LIST)).headers.get('x-request-id'));
    expect(ids.size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^\w{32}$/);
    const given = await api.get(LIST, { headers: { 'X-Request-Id': 'of-a/client@1 \u00e9' } });
    expect(given.headers.get('x-request-id')).toBe('of-aclient@1');
    const long = await api.get(LIST, { headers: { 'X-Request-Id': 'x'.repeat(1000) } });
    expect(long.headers.get('x-request-id')).toHaveLength(255);
  });
});
