import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { type Api, at, DAY, LIST, type Sent, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

type Fields = readonly [string, string][];
const multipart = (fields: Fields) => {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
};
const search = (fields: Fields) => `?${new URLSearchParams([...fields])}`;
const rawForm = (fields: Fields): Sent => ({
  body: search(fields).slice(1),
  headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' },
});

/** The four ways in which clients send parameters: what to add to the path, and what to send. */
const ways: [string, (fields: Fields) => readonly [string, Sent]][] = [
  ['urlencoded', (fields) => ['', rawForm(fields)]],
  ['multipart', (fields) => ['', { body: multipart(fields) }]],
  ['query string', (fields) => [search(fields), {}]],
  ['JSON', (fields) => ['', { json: Object.fromEntries(fields) }]],
];

describe.each(ways)('parameters sent as %s', (_, encode) => {
  test.each(['PUT', 'PATCH'])('change a record, with %s', async (method) => {
    const id = await api.schedule(DAY);
    const [query, sent] = encode([['scheduled_at', at(2 * DAY)]]);
    const { body } = await api.request(method, `${LIST}/${id}${query}`, sent);
    expect(body.scheduled_at).toBe(at(2 * DAY));
  });
  test('create a record, with POST', async () => {
    const [query, sent] = encode([
      ['status', 'ünïcode & + % = 🎬'],
      ['scheduled_at', at(DAY)],
    ]);
    const { body } = await api.request('POST', `${STATUSES}${query}`, sent);
    expect(body).toMatchObject({ scheduled_at: at(DAY), params: { text: 'ünïcode & + % = 🎬' } });
  });
});

describe.each(ways.filter(([way]) => way !== 'JSON'))('nested parameters sent as %s', (_, encode) => {
  test('give lists and objects in the manner of Rails, with POST', async () => {
    const [query, sent] = encode([
      ['status', 'poll'],
      ['scheduled_at', at(DAY)],
      ['poll[options][]', 'a'],
      ['poll[options][]', 'b'],
      ['poll[expires_in]', '3600'],
      ['poll[multiple]', 'true'],
    ]);
    const { body } = await api.request('POST', `${STATUSES}${query}`, sent);
    expect(body.params.poll).toEqual({ options: ['a', 'b'], expires_in: '3600', multiple: 'true' });
  });
});

describe('a body', () => {
  test('limits the list, when it comes with GET, as the query would', async () => {
    for (const ms of [DAY, 2 * DAY, 3 * DAY]) await api.schedule(ms);
    // fetch sends no body with GET; some other clients do.
    const { body } = await supertest(api.url)
      .get(LIST)
      .auth('alice-rw', { type: 'bearer' })
      .send({ limit: 2 });
    expect(body).toHaveLength(2);
  });
  test('outweighs the query, when both have a parameter', async () => {
    const id = await api.schedule(DAY);
    const path = `${LIST}/${id}${search([['scheduled_at', at(2 * DAY)]])}`;
    const { body } = await api.request('PUT', path, { json: { scheduled_at: at(3 * DAY) } });
    expect(body.scheduled_at).toBe(at(3 * DAY));
  });
  test('counts as a form, when it has no Content-Type', async () => {
    const id = await api.schedule(DAY);
    const body = new TextEncoder().encode(`scheduled_at=${at(2 * DAY)}`);
    expect((await api.request('PUT', `${LIST}/${id}`, { body })).body.scheduled_at).toBe(at(2 * DAY));
  });
  test('is ignored, when its type is none of the four', async () => {
    const id = await api.schedule(DAY);
    const headers = { 'Content-Type': 'text/plain' };
    const { status, body } = await api.request('PUT', `${LIST}/${id}`, {
      body: `scheduled_at=${at(2 * DAY)}`,
      headers,
    });
    expect([status, body.scheduled_at]).toEqual([200, at(DAY)]);
  });
  test.each(['[]', '"text"', '1', 'null', ''])('is ignored, when it is the JSON %s', async (text) => {
    const id = await api.schedule(DAY);
    const sent = { body: text, headers: { 'Content-Type': 'application/json' } };
    expect((await api.request('PUT', `${LIST}/${id}`, sent)).status).toBe(200);
  });
  test.each([
    ['JSON cut short', 'application/json', '{"scheduled_at":'],
    ['JSON that is a form', 'application/json', 'scheduled_at=2026'],
    ['multipart without a boundary', 'multipart/form-data', '--x\r\n'],
    ['multipart cut short', 'multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data'],
    ['multipart that is JSON', 'multipart/form-data; boundary=x', '{}'],
    ['a form with one name twice over', 'application/x-www-form-urlencoded', 'poll=1&poll[options][]=2'],
    [
      'a form with a list in place of a value',
      'application/x-www-form-urlencoded',
      'media_ids=1&media_ids[]=2',
    ],
  ])('is refused, when it is %s, with 400', async (_, type, body) => {
    const answer = await api.request('POST', STATUSES, { body, headers: { 'Content-Type': type } });
    expect([answer.status, Object.keys(answer.body)]).toEqual([400, ['error']]);
  });
  test('is refused, when it is larger than 16 MB, with 413', async () => {
    const answer = await api.request('POST', STATUSES, { json: { status: 'x'.repeat(17 * 1024 * 1024) } });
    expect([answer.status, answer.body]).toEqual([413, { error: 'Payload Too Large' }]);
  });
  test('is refused, when its encoding is unknown, with 415', async () => {
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'rot13' };
    expect((await api.request('POST', STATUSES, { body: '{}', headers })).status).toBe(415);
  });
  test('is refused, when it is not compressed as it says, with 400', async () => {
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
    const { status, body } = await api.request('POST', STATUSES, { body: 'no gzip', headers });
    expect([status, body]).toEqual([400, { error: 'Bad Request' }]);
  });
  test('cannot reach beyond its own members, when they are named like those of every object', async () => {
    const body = `{"status":"x","scheduled_at":"${at(DAY)}","__proto__":{"visibility":"direct"},"constructor":1}`;
    const sent = { body, headers: { 'Content-Type': 'application/json' } };
    expect((await api.request('POST', STATUSES, sent)).body.params.visibility).toBeNull();
    expect((await api.request('POST', `${STATUSES}?__proto__[visibility]=direct&status=x`)).status).toBe(200);
  });
});
