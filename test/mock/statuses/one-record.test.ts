import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, at, DAY, LIST, MINUTE, NOW, startApi } from './support.ts';

let api: Api;
let id: string;
beforeEach(async () => {
  api = await startApi();
  id = await api.schedule(DAY, { status: 'wait for it' });
});
afterEach(() => api.close());

const change = (scheduledAt: unknown, method = 'PUT') =>
  api.request(method, `${LIST}/${id}`, { json: { scheduled_at: scheduledAt } });

describe('ScheduledStatus', () => {
  test('shows a record, when it has neither media nor poll, with the fields of the specification', async () => {
    const { status, body } = await api.get(`${LIST}/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: '1',
      scheduled_at: '2026-01-02T00:00:00.000Z',
      params: {
        poll: null,
        text: 'wait for it',
        media_ids: null,
        sensitive: null,
        visibility: null,
        idempotency: null,
        scheduled_at: null,
        spoiler_text: null,
        application_id: 1,
        in_reply_to_id: null,
      },
      media_attachments: [],
    });
    expect(Object.keys(body)).toEqual(['id', 'scheduled_at', 'params', 'media_attachments']);
  });
  test('lists a record, when it is one of many, just as it shows it', async () => {
    const [listed] = (await api.get(LIST)).body;
    expect(listed).toEqual((await api.get(`${LIST}/${id}`)).body);
  });
});

describe('an id that names no record', () => {
  const NOT_FOUND = [404, { error: 'Record not found' }];
  test.each(['999', '0', '-1', 'abc', '1abc', '1.0', '%20', '9'.repeat(60), 'null', '..%2f1'])(
    'answers each operation, when the id is %s, with 404',
    async (missing) => {
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        const json = method === 'GET' ? undefined : { scheduled_at: at(DAY) };
        const { status, body } = await api.request(method, `${LIST}/${missing}`, { json });
        expect([status, body]).toEqual(NOT_FOUND);
      }
    },
  );
  test('answers, when the id is not even URL-encoded, with 400', async () => {
    expect((await api.get(`${LIST}/%zz`)).body).toEqual({ error: 'Bad Request' });
  });
});

describe('change', () => {
  test.each(['PUT', 'PATCH'])(
    'moves a record, when %s has a time, and answers the whole of it',
    async (method) => {
      const before = (await api.get(`${LIST}/${id}`)).body;
      const { status, body } = await change(at(2 * DAY), method);
      expect([status, body]).toEqual([200, { ...before, scheduled_at: at(2 * DAY) }]);
      expect((await api.get(`${LIST}/${id}`)).body).toEqual(body);
    },
  );
  test('ignores the rest, when more than scheduled_at is sent', async () => {
    const json = { scheduled_at: at(2 * DAY), status: 'other', visibility: 'direct', id: '7', params: {} };
    const { body } = await api.request('PUT', `${LIST}/${id}`, { json });
    expect(body).toMatchObject({ id, params: { text: 'wait for it', visibility: null } });
  });
  test('leaves a record as it is, when scheduled_at is not sent, with 200', async () => {
    for (const json of [undefined, {}, { status: 'other' }]) {
      const { status, body } = await api.request('PUT', `${LIST}/${id}`, { json });
      expect([status, body.scheduled_at]).toEqual([200, at(DAY)]);
    }
  });
  test.each([
    ['in the past', at(-DAY)],
    ['now', at(0)],
    ['1 minute ahead', at(MINUTE)],
    ['exactly 5 minutes ahead', at(5 * MINUTE)],
  ])('refuses a time, when it is %s, with 422', async (_, time) => {
    const { status, body } = await change(time);
    expect([status, body]).toEqual([
      422,
      { error: 'Validation failed: Scheduled at The scheduled date must be in the future' },
    ]);
    expect((await api.get(`${LIST}/${id}`)).body.scheduled_at).toBe(at(DAY));
  });
  test('takes a time, when it is a millisecond over 5 minutes ahead, with 200', async () => {
    expect((await change(at(5 * MINUTE + 1))).body.scheduled_at).toBe('2026-01-01T00:05:00.001Z');
  });
  test.each([
    ['unparsable', 'tomorrow'],
    ['no day of the calendar', '2026-02-30T00:00:00Z'],
    ['empty', ''],
    ['null', null],
    ['a number', NOW + DAY],
    ['a list', [at(2 * DAY)]],
    ['an object', { time: at(2 * DAY) }],
  ])('refuses a time, when it is %s, with 422 (the mock’s own choice)', async (_, time) => {
    const { status, body } = await change(time);
    expect([status, body]).toEqual([
      422,
      { error: 'Validation failed: Scheduled at is not an ISO 8601 date and time' },
    ]);
    expect((await api.get(`${LIST}/${id}`)).body.scheduled_at).toBe(at(DAY));
  });
  test.each([
    ['a date alone', '2026-02-03', '2026-02-03T00:00:00.000Z'],
    ['without a zone', '2026-02-03T04:05:06', '2026-02-03T04:05:06.000Z'],
    ['without seconds', '2026-02-03T04:05', '2026-02-03T04:05:00.000Z'],
    ['with Z', '2026-02-03T04:05:06Z', '2026-02-03T04:05:06.000Z'],
    ['with an offset', '2026-02-03T04:05:06+02:00', '2026-02-03T02:05:06.000Z'],
    ['with a negative offset', '2026-02-03T04:05:06-0330', '2026-02-03T07:35:06.000Z'],
    ['with microseconds', '2026-02-03T04:05:06.789123Z', '2026-02-03T04:05:06.789Z'],
    ['with a space', '2026-02-03 04:05:06 UTC', '2026-02-03T04:05:06.000Z'],
    ['3000 years out', '5026-01-01T00:00:00Z', '5026-01-01T00:00:00.000Z'],
  ])('reads a time, when it is %s, as UTC', async (_, sent, expected) => {
    expect((await change(sent)).body.scheduled_at).toBe(expected);
  });
});

describe('cancel', () => {
  test('removes a record, when it is there, and answers exactly {}', async () => {
    const response = await fetch(`${api.url}${LIST}/${id}`, {
      method: 'DELETE',
      headers: { Authorization: 'Bearer alice-rw' },
    });
    expect([response.status, await response.text()]).toEqual([200, '{}']);
    expect((await api.get(`${LIST}/${id}`)).status).toBe(404);
    expect((await api.request('DELETE', `${LIST}/${id}`)).status).toBe(404);
    expect((await api.get(LIST)).body).toEqual([]);
  });
  test('removes a record, when the request has the body {}, all the same', async () => {
    expect((await api.request('DELETE', `${LIST}/${id}`, { json: {} })).body).toEqual({});
  });
  test('shows, changes and removes a record, when the path ends with a slash, all the same', async () => {
    const path = `${LIST}/${id}/`;
    expect((await api.get(path)).body.id).toBe(id);
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { status } = await api.request(method, path, { json: { scheduled_at: at(2 * DAY) } });
      expect(status).toBe(200);
    }
  });
  test('never publishes a record, when it was cancelled, however late it gets', async () => {
    await api.request('DELETE', `${LIST}/${id}`);
    expect(api.clock.nextDue()).toBeUndefined();
  });
});
