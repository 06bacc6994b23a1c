import { expect, test } from '@jest/globals';
import { api, HOUR, LIST, MEDIA, NOW, STATUSES, useApi } from './support.ts';

useApi(NOW + 12_345);

const OPERATIONS = [
  ['GET', LIST, 'read'],
  ['GET', `${LIST}/999`, 'read'],
  ['PUT', `${LIST}/999`, 'write'],
  ['PATCH', `${LIST}/999`, 'write'],
  ['DELETE', `${LIST}/999`, 'write'],
  ['POST', STATUSES, 'write'],
  ['DELETE', `${STATUSES}/999`, 'write'],
  ['POST', MEDIA, 'write'],
  ['PUT', '/api/v1/media/999', 'write'],
] as const;

test.each(OPERATIONS)('%s %s wants a user token of scope %s, before it reads', async (...row) => {
  const [method, path, scope] = row;
  const other = scope === 'read' ? 'Bearer alice-write' : 'Bearer alice-read';
  for (const [Authorization, status, error] of [
    [undefined, 401, 'The access token is invalid'],
    ['Bearer nobody', 401, 'The access token is invalid'],
    ['Basic alice-rw', 401, 'The access token is invalid'],
    ['Bearer alice-revoked', 401, 'The access token was revoked'],
    ['Bearer alice-expired', 401, 'The access token expired'],
    [other, 403, 'This action is outside the authorized scopes'],
    ['Bearer app-only', 422, 'This method requires an authenticated user'],
  ] as const) {
    const headers = { 'Content-Type': 'application/json', ...(Authorization && { Authorization }) };
    const sent = method === 'GET' ? {} : { body: '{' };
    const answer = await api.request(method, path, { token: '', headers, ...sent });
    expect([Authorization, answer.status, answer.body]).toEqual([Authorization, status, { error }]);
    const challenge = `Bearer realm="Doorkeeper", error="invalid_token", error_description="${error}"`;
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? challenge : null);
  }
  for (const Authorization of [`bEaReR alice-${scope}`, 'Bearer alice-rw'])
    expect([200, 404, 422]).toContain(
      (await api.request(method, path, { token: '', headers: { Authorization } })).status,
    );
});

test.each([
  ['public', '', 200],
  ['public', 'app-only', 200],
  ['public', 'alice-write', 403],
  ['private', 'bob-rw', 404],
  ['private', 'alice-read', 200],
])('a %s status is answered, and replied to, for "%s", with %i', async (visibility, token, status) => {
  const { id } = (await api.post({ status: 'x', visibility })).body;
  expect((await api.get(`${STATUSES}/${id}`, { token })).status).toBe(status);
  if (token !== 'bob-rw') return;
  expect((await api.post({ status: 'y', in_reply_to_id: id }, { token })).status).toBe(404);
  expect((await api.get('/api/v1/accounts/1/statuses', { token })).body).toEqual([]);
});

test('the rate limit is 300 requests in 5 minutes of the clock, for each user or address, whatever the answer', async () => {
  const limits = async (token = 'alice-rw', path = LIST) => {
    const { status, headers } = await api.get(path, { token });
    return [status, ...['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))];
  };
  const RESET = '2026-01-01T00:05:00.345000Z';
  expect(await limits()).toEqual([200, '300', '299', RESET]);
  expect(await limits('alice-revoked', '/api/v1/nowhere')).toEqual([404, '300', '298', RESET]);
  expect(await limits('bob-rw')).toEqual([200, '300', '299', RESET]);
  expect(await limits('')).toEqual([401, '300', '299', RESET]);
  expect(await limits('nobody')).toEqual([401, '300', '298', RESET]);
  for (let n = 0; n < 298; n++) await limits();
  const refused = await api.get(LIST);
  expect([refused.status, refused.body]).toEqual([429, { error: 'Too many requests' }]);
  await api.clock.advance(HOUR / 12 - 12_345 - 1);
  expect((await limits())[0]).toBe(429);
  await api.clock.advance(1);
  expect(await limits()).toEqual([200, '300', '299', '2026-01-01T00:10:00.000000Z']);
});

test('pages of every origin may ask, as a preflight says that does not count, and read what is answered, errors too', async () => {
  const asked = 'authorization,content-type,idempotency-key,x-of-its-own';
  const headers = { Origin: 'https://app.example', 'Access-Control-Request-Headers': asked };
  const preflight = await api.request('OPTIONS', LIST, { headers });
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-methods': 'POST, PUT, DELETE, GET, PATCH, OPTIONS',
    'access-control-allow-headers': asked,
  });
  const answers = [preflight, await api.get(LIST), await api.get('/api/v1/nowhere')];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
  for (const one of answers) expect(one.headers.get('access-control-allow-origin')).toBe('*');
  expect(answers[1]?.headers.get('x-ratelimit-remaining')).toBe('299');
  expect(answers[2]?.headers.get('access-control-expose-headers')).toMatch(/^Link, .*X-Request-Id$/);
});
