import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, at, LIST, MEDIA, MINUTE, STATUSES, startApi } from './support.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** Each operation with the scope that the specification's table gives it; none of the records exists. */
const operations = [
  ['GET', LIST, 'read:statuses'],
  ['GET', `${LIST}/999`, 'read:statuses'],
  ['PUT', `${LIST}/999`, 'write:statuses'],
  ['PATCH', `${LIST}/999`, 'write:statuses'],
  ['DELETE', `${LIST}/999`, 'write:statuses'],
  ['POST', STATUSES, 'write:statuses'],
  ['POST', MEDIA, 'write:media'],
] as const;

describe.each(operations)('%s %s', (method, path, scope) => {
  const refused = [
    ['no token', '', 401, 'The access token is invalid'],
    ['an unknown token', 'Bearer nobody', 401, 'The access token is invalid'],
    ['a token that is not Bearer', 'Basic alice-rw', 401, 'The access token is invalid'],
    ['the bare token', 'alice-rw', 401, 'The access token is invalid'],
    ['an empty Bearer', 'Bearer ', 401, 'The access token is invalid'],
    ['a revoked token', 'Bearer alice-revoked', 401, 'The access token was revoked'],
    ['an expired token', 'Bearer alice-expired', 401, 'The access token expired'],
    ['an application token', 'Bearer app-only', 422, 'This method requires an authenticated user'],
  ] as const;
  test.each(refused)('refuses a call, when it carries %s, with its status and text', async (...row) => {
    const [, authorization, status, text] = row;
    const headers: Record<string, string> = authorization === '' ? {} : { Authorization: authorization };
    const response = await fetch(api.url + path, { method, headers });
    expect(await response.json()).toEqual({ error: text });
    expect(response.status).toBe(status);
    const challenge = `Bearer realm="Doorkeeper", error="invalid_token", error_description="${text}"`;
    expect(response.headers.get('www-authenticate')).toBe(status === 401 ? challenge : null);
  });

  test('refuses a call, when the token has the other scope, with 403', async () => {
    const token = scope.startsWith('read') ? 'alice-write' : 'alice-read';
    const { status, body } = await api.request(method, path, { token });
    expect([status, body]).toEqual([403, { error: 'This action is outside the authorized scopes' }]);
  });

  test.each([scope.startsWith('read') ? 'alice-read' : 'alice-write', 'alice-rw'])(
    'lets a call through, when the token is %s, to the operation itself',
    async (token) => {
      const { status } = await api.request(method, path, { token });
      expect([200, 404, 422]).toContain(status);
    },
  );

  test('takes the scheme, whatever its case, as Bearer', async () => {
    for (const scheme of ['bearer', 'BEARER', 'BeArEr']) {
      const response = await fetch(api.url + path, {
        method,
        headers: { Authorization: `${scheme} alice-rw` },
      });
      expect([200, 404, 422]).toContain(response.status);
    }
  });
});

test('settles who calls, when the body cannot be read either, before the body', async () => {
  const sent = { body: '{', headers: { 'Content-Type': 'application/json' } };
  expect((await api.request('PUT', `${LIST}/999`, { ...sent, token: 'nobody' })).status).toBe(401);
  expect((await api.request('PUT', `${LIST}/999`, { ...sent, token: 'alice-read' })).status).toBe(403);
  expect((await api.request('PUT', `${LIST}/999`, sent)).status).toBe(400);
});

describe('GET /api/v1/statuses/:id', () => {
  const publish = async (visibility: string) =>
    (await api.request('POST', STATUSES, { json: { status: visibility, visibility } })).body.id as string;

  test.each([
    ['public', '', 200],
    ['public', 'bob-rw', 200],
    ['public', 'nobody', 200],
    ['public', 'app-only', 200],
    ['public', 'alice-write', 403],
    ['public', 'alice-revoked', 401],
    ['unlisted', '', 200],
    ['private', '', 404],
    ['private', 'bob-rw', 404],
    ['private', 'alice-read', 200],
    ['direct', 'bob-rw', 404],
    ['direct', 'alice-read', 200],
  ])('answers for a %s status, when the token is "%s", with %i', async (visibility, token, status) => {
    const id = await publish(visibility);
    expect((await api.get(`${STATUSES}/${id}`, { token })).status).toBe(status);
  });
});

test('keeps users apart, when a record is another user’s, with 404 on each operation', async () => {
  const id = await api.schedule(10 * MINUTE);
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const json = method === 'GET' ? undefined : { scheduled_at: at(20 * MINUTE) };
    const { status, body } = await api.request(method, `${LIST}/${id}`, { token: 'bob-rw', json });
    expect([status, body]).toEqual([404, { error: 'Record not found' }]);
  }
  expect((await api.get(LIST, { token: 'bob-rw' })).body).toEqual([]);
  expect((await api.get(`${LIST}/${id}`)).status).toBe(200);
});
