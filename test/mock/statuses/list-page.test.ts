import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, DAY, type Json, LIST, MINUTE, STATUSES, startApi } from './support.ts';

let api: Api;
const made: string[] = [];
beforeAll(async () => {
  api = await startApi();
  // The later the record, the sooner it is due.
  for (let n = 0; n < 45; n++) made.push(await api.schedule((60 - n) * DAY));
  await api.nextWindow();
});
afterAll(() => api.close());

const list = async (query = '') => (await api.get(LIST + query)).body.map(({ id }: Json) => id);
/** The ids from one down to another. */
const range = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, n) => String(from - n));

describe('order', () => {
  test('lists records, when those made last are due first, by id descending', async () => {
    expect(await list()).toEqual(range(45, 26));
  });
  test('gives ids, whatever the record, as strings of small ascending integers', () => {
    expect(made).toEqual(range(45, 1).reverse());
  });
});

describe('cursors', () => {
  test.each([
    ['max_id', '?max_id=11', range(10, 1)],
    ['max_id of no record', '?max_id=1000', range(45, 26)],
    ['since_id', '?since_id=30', range(45, 31)],
    ['since_id with more than a page above it', '?since_id=5', range(45, 26)],
    ['min_id', '?min_id=5', range(25, 6)],
    ['min_id near the top', '?min_id=40', range(45, 41)],
    ['min_id of 0', '?min_id=0', range(20, 1)],
    ['min_id with max_id (release 3.3.0)', '?min_id=5&max_id=10', range(9, 6)],
    ['min_id with max_id and limit', '?min_id=5&max_id=20&limit=3', range(8, 6)],
    ['since_id with max_id', '?since_id=5&max_id=10', range(9, 6)],
    ['since_id with max_id and limit', '?since_id=5&max_id=20&limit=3', range(19, 17)],
    ['since_id ignored with min_id', '?min_id=5&since_id=40', range(25, 6)],
    ['empty max_id', '?max_id=', range(45, 26)],
    ['empty since_id', '?since_id=', range(45, 26)],
    ['empty min_id', '?min_id=', range(45, 26)],
    ['empty min_id with since_id', '?min_id=&since_id=43', range(45, 44)],
    ['blank max_id', '?max_id=%20', range(45, 26)],
    ['max_id not a number', '?max_id=abc', []],
    ['since_id not a number', '?since_id=abc', []],
    ['min_id not a number', '?min_id=abc', []],
    ['max_id a list', '?max_id[]=10', []],
    ['max_id sent twice', '?max_id=30&max_id=4', range(3, 1)],
    ['max_id below all', '?max_id=1', []],
    ['since_id negative', '?since_id=-5&limit=2', range(45, 44)],
    ['max_id beyond any integer', `?max_id=${'9'.repeat(60)}&limit=2`, range(45, 44)],
  ])('lists, when the query has %s, what the rules say', async (_, query, expected) => {
    expect(await list(query)).toEqual(expected);
  });
});

describe('limit', () => {
  test.each([
    ['absent', '', 20],
    ['default 20', '?limit=20', 20],
    ['maximum 40', '?limit=40', 40],
    ['above the maximum', '?limit=41', 40],
    ['far above the maximum', '?limit=9999999999999999999999', 40],
    ['1', '?limit=1', 1],
    ['0', '?limit=0', 20],
    ['not a number', '?limit=many', 20],
    ['empty', '?limit=', 20],
    ['negative: its absolute value', '?limit=-3', 3],
    ['a leading integer', '?limit=7abc', 7],
    ['a fraction', '?limit=2.9', 2],
    ['a list', '?limit[]=3', 20],
  ])('lists, when limit is %s, as many as the rules say', async (_, query, length) => {
    expect(await list(query)).toHaveLength(length);
  });
});

describe('Link header', () => {
  const link = async (query = '', sent = {}) => (await api.get(LIST + query, sent)).headers.get('link');
  const next = (query: string) => `<${api.url}${LIST}?${query}>; rel="next"`;
  const prev = (query: string) => `<${api.url}${LIST}?${query}>; rel="prev"`;

  test('links both ways, when a page is full, with keys in alphabetical order and limit echoed', async () => {
    expect(await link('?limit=2')).toBe(`${next('limit=2&max_id=44')}, ${prev('limit=2&min_id=45')}`);
  });
  test('links without limit, when none was sent', async () => {
    expect(await link()).toBe(`${next('max_id=26')}, ${prev('min_id=45')}`);
  });
  test('echoes limit, when it is beyond the maximum, as it was sent', async () => {
    expect(await link('?limit=99')).toBe(`${next('limit=99&max_id=6')}, ${prev('limit=99&min_id=45')}`);
  });
  test('drops other cursors, when there are any, from both links', async () => {
    expect(await link('?limit=2&max_id=10&since_id=1')).toBe(
      `${next('limit=2&max_id=8')}, ${prev('limit=2&min_id=9')}`,
    );
  });
  test('links back only, when a page is not full', async () => {
    expect(await link('?max_id=3')).toBe(prev('min_id=2'));
  });
  test('links onward, when a full page happens to be the last, to an empty page', async () => {
    expect(await link('?limit=2&max_id=3')).toBe(`${next('limit=2&max_id=1')}, ${prev('limit=2&min_id=2')}`);
    expect(await list('?limit=2&max_id=1')).toEqual([]);
  });
  test('is absent, when a page is empty', async () => {
    expect(await link('?max_id=1')).toBeNull();
    expect(await link('', { token: 'bob-rw' })).toBeNull();
  });
  test('is absolute, when a proxy tells its host and protocol, for that address', async () => {
    const headers = { 'X-Forwarded-Host': 'mock.example', 'X-Forwarded-Proto': 'https' };
    expect(await link('?max_id=3', { headers })).toBe(
      '<https://mock.example/api/v1/scheduled_statuses?min_id=2>; rel="prev"',
    );
  });
  test('is absolute, when the host is of no use, for the base URL of the mock', async () => {
    expect(await link('?max_id=3', { headers: { 'X-Forwarded-Host': '"><evil' } })).toBe(prev('min_id=2'));
  });
  test('is without the slash, when the path was asked with one', async () => {
    expect((await api.get(`${LIST}/?max_id=3`)).headers.get('link')).toBe(prev('min_id=2'));
  });
});

describe('routes', () => {
  test.each([
    ['GET', '/api/v1/nowhere'],
    ['GET', '/api'],
    ['GET', '/api/v2/scheduled_statuses'],
    ['POST', LIST],
    ['PATCH', LIST],
    ['DELETE', LIST],
    ['POST', `${LIST}/1`],
    ['GET', STATUSES],
    ['PUT', `${STATUSES}/1`],
  ])('answers %s %s, which is none of the API, with 404 Not Found', async (method, path) => {
    const { status, body } = await api.request(method, path);
    expect([status, body]).toEqual([404, { error: 'Not Found' }]);
  });
  test('leaves a path, when it is not under /api/, to the rest of the app', async () => {
    const response = await fetch(`${api.url}/v2/webhooks`);
    expect(await response.text()).toContain('Cannot GET /v2/webhooks');
    expect(response.headers.has('x-ratelimit-limit')).toBe(false);
  });
  test('lists and shows, when the path ends with a slash, all the same', async () => {
    expect((await api.get(`${LIST}/`)).body).toHaveLength(20);
    expect((await api.get(`${LIST}/3/`)).body.id).toBe('3');
  });
});

test('forgets everything, when it is reset', async () => {
  const other = await startApi();
  await other.schedule(10 * MINUTE);
  other.reset();
  expect((await other.get(LIST)).body).toEqual([]);
  await other.clock.advance(DAY);
  expect(await other.schedule(2 * DAY)).toBe('1');
  other.close();
});
