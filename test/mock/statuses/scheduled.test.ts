import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Api,
  api,
  at,
  DAY,
  HOUR,
  type Json,
  LIST,
  MINUTE,
  STATUSES,
  startApi,
  useApi,
} from './support.ts';

const INVALID = 'Validation failed: Scheduled at';
const PAST = `${INVALID} The scheduled date must be in the future`;
const NOT_FOUND = { status: 404, body: { error: 'Record not found' } };

describe('a list of 45', () => {
  let api: Api; // for all of these tests
  beforeAll(async () => {
    api = await startApi();
    // The later the record, the sooner it is due.
    for (let n = 0; n < 45; n++) await api.schedule((60 - n) * DAY);
    await api.nextWindow();
  });
  /** The ids from one down to another. */
  const range = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, n) => String(from - n));
  const next = (query: string) => `<${api.url}${LIST}?${query}>; rel="next"`;
  const prev = (query: string) => `<${api.url}${LIST}?${query}>; rel="prev"`;

  test.each([
    ['', range(45, 26)],
    ['?limit=41', range(45, 6)],
    ['?limit=-3', range(45, 43)],
    ['?limit=0', range(45, 26)],
    ['?min_id=5', range(25, 6)],
    ['?min_id=5&max_id=20&limit=3', range(8, 6)],
    ['?since_id=5&max_id=20&limit=3', range(19, 17)],
    ['?max_id=&min_id=&since_id=43', range(45, 44)],
    ['?max_id=abc', []],
  ])('asked for by %s has the ids %j', async (query, expected) => {
    const { status, body } = await api.get(LIST + query);
    expect([status, body.map(({ id }: Json) => id)]).toEqual([200, expected]);
  });

  test.each([
    ['', () => `${next('max_id=26')}, ${prev('min_id=45')}`],
    ['/?limit=2&max_id=10&since_id=1', () => `${next('limit=2&max_id=8')}, ${prev('limit=2&min_id=9')}`],
    ['?max_id=3', () => prev('min_id=2')],
  ])('asked for by %s links to the pages beside it', async (query, expected) => {
    expect((await api.get(LIST + query)).headers.get('link')).toBe(expected());
  });
});

describe('a scheduled status', () => {
  let id: string;
  useApi();
  beforeEach(async () => {
    id = await api.schedule(DAY, { status: 'wait for it' });
  });
  const change = (json: object, method = 'PUT') => api.request(method, `${LIST}/${id}`, { json });
  const shown = async () => (await api.get(`${LIST}/${id}`)).body;
  /** What a user has published, in order of publication. */
  const published = async (): Promise<Json[]> =>
    (await api.get('/api/v1/accounts/1/statuses')).body.toReversed();

  test.each(['999', '1abc'])('is 404 under the id %s', async (missing) => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      expect(await api.request(method, `${LIST}/${missing}`)).toMatchObject(NOT_FOUND);
    }
  });

  test('moves and goes, with a slash at the end too, and takes nothing but scheduled_at', async () => {
    const before = await shown();
    for (const json of [{}, { status: 'other' }]) expect((await change(json)).body).toEqual(before);
    for (const [method, path, day] of [
      ['PUT', `${LIST}/${id}`, 2],
      ['PATCH', `${LIST}/${id}/`, 3],
    ] as const) {
      const json = { scheduled_at: at(day * DAY), status: 'other', id: '7', params: {} };
      const { status, body } = await api.request(method, path, { json });
      expect([status, body]).toEqual([200, { ...before, scheduled_at: at(day * DAY) }]);
      expect(await shown()).toEqual(body);
    }
    const deleted = await api.request('DELETE', `${LIST}/${id}/`, { json: {} });
    expect([deleted.status, deleted.body]).toEqual([200, {}]);
    expect((await api.get(LIST)).body).toEqual([]);
    expect(api.clock.nextDue()).toBeUndefined();
  });

  test.each<[unknown, string]>([
    [at(5 * MINUTE - 1), PAST],
    ['tomorrow', `${INVALID} is not an ISO 8601 date and time`],
    [null, `${INVALID} is not an ISO 8601 date and time`],
  ])('is not moved to %j, with 422 %s', async (scheduled_at, error) => {
    expect(await change({ scheduled_at })).toMatchObject({ status: 422, body: { error } });
    expect((await shown()).scheduled_at).toBe(at(DAY));
  });

  test.each([
    [at(5 * MINUTE), '2026-01-01T00:05:00.000Z'],
    ['2026-02-03T04:05:06+02:00', '2026-02-03T02:05:06.000Z'],
    ['2026-02-03T04:05:06.789123Z', '2026-02-03T04:05:06.789Z'],
  ])('is moved to %s, which is %s', async (scheduled_at, expected) => {
    expect((await change({ scheduled_at })).body.scheduled_at).toBe(expected);
  });

  test('is gone and published under another id, once its time has come, by due time and then by id', async () => {
    const file = await api.upload();
    await api.schedule(3 * DAY, { status: 'c' });
    await api.schedule(HOUR, { status: 'a', visibility: 'unlisted', sensitive: true, media_ids: [file] });
    await api.schedule(3 * DAY, { status: 'd' });
    await change({ scheduled_at: at(4 * DAY) });
    await change({ scheduled_at: at(2 * DAY) });
    await api.clock.advance(HOUR - 1);
    expect(await published()).toEqual([]);
    await api.clock.advance(4 * DAY);
    const all = await published();
    const contents = all.map(({ content }) => content.replace(/<\/?p>/g, ''));
    expect(contents).toEqual(['a', 'wait for it', 'c', 'd']);
    expect(all[0]).toMatchObject({
      id: '100000000001',
      created_at: at(HOUR),
      visibility: 'unlisted',
      sensitive: true,
      media_attachments: [{ id: file }],
    });
    expect((await api.get(`${STATUSES}/100000000001`)).body).toEqual(all[0]);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(await api.request(method, `${LIST}/${id}`)).toMatchObject(NOT_FOUND);
  });

  test('is one of 25 on a UTC day and of 300 in all, for each user, on creation and on change', async () => {
    const daily = 'You have exceeded the limit of 25 scheduled posts for today';
    const total = 'You have exceeded the limit of 300 scheduled posts';
    const refusal = async (scheduled_at: string) =>
      (await api.post({ status: 'x', scheduled_at })).body.error;
    for (let n = 0; n < 299; n++) {
      if (n % 250 === 249) await api.nextWindow();
      await api.schedule(DAY * (2 + Math.floor(n / 25)) + n * 1000);
      if (n !== 24) continue;
      expect(await refusal('2026-01-03T23:59:59Z')).toBe(`Validation failed: ${daily}`);
      expect(await refusal('2026-01-04T01:00:00+02:00')).toBe(`Validation failed: ${daily}`);
      expect((await change({ scheduled_at: at(2 * DAY) })).body.error).toBe(`Validation failed: ${daily}`);
      await api.request('DELETE', `${LIST}/2`);
      expect((await api.schedule(2 * DAY)) && (await api.schedule(2 * DAY, {}, 'bob-rw'))).toBeTruthy();
    }
    await api.nextWindow();
    expect(await refusal(at(99 * DAY))).toBe(`Validation failed: ${total}`);
    expect((await change({ scheduled_at: at(99 * DAY) })).body.error).toBe(`Validation failed: ${total}`);
    expect((await change({})).status).toBe(200);
  });
});
