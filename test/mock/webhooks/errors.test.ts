import { describe, expect, test } from '@jest/globals';
import { ask } from '../support/api.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage();
const webhooks = () => `${stage.mock.url}/v2/webhooks`;
const body = { metadata: { name: 'a', webhook_url: 'https://example.com/', events: [], site_ids: [] } };

const rows: [number, string, string, () => ReturnType<typeof ask>][] = [
  [400, 'invalid_body', 'The provided request body is invalid.', () => ask(webhooks(), 'POST', '{')],
  [
    401,
    'unauthorized',
    'Provided authentication credentials are invalid',
    () => ask(webhooks(), 'GET', undefined, { Authorization: 'another' }),
  ],
  [404, 'not_found', 'requested resource could not be found', () => ask(`${webhooks()}/aaaaaaaa`, 'GET')],
  [
    405,
    'method_not_allowed',
    'Provided method is not allowed on the targeted resource',
    () => ask(webhooks(), 'PUT', body),
  ],
  [
    429,
    'rate_limit_exceeded',
    'Rate limit has been exceeded',
    async () => {
      for (let i = 0; i < 60; i++) await ask(webhooks(), 'GET');
      return ask(webhooks(), 'GET');
    },
  ],
];

describe('the errors of the webhooks API', () => {
  test.each(rows)(
    'are %d %s "%s", in the envelope of the service',
    async (status, code, description, provoke) => {
      const answer = await provoke();
      expect(answer.status).toBe(status);
      expect(answer.json).toEqual({ errors: [{ code, description }] });
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    },
  );

  test.each(rows)(
    'carry all five headers of the service, when it is %d',
    async (_status, _code, _text, provoke) => {
      expectHeaders((await provoke()).headers);
    },
  );

  test.each<[string, string, string]>([
    ['an unknown route', 'GET', '/v2/nothing'],
    ['the root of the version', 'GET', '/v2'],
    ['a route beyond a webhook', 'GET', '/v2/webhooks/aaaaaaaa/secret'],
    ['an unknown id', 'PATCH', '/v2/webhooks/aaaaaaaa'],
    ['an unknown id', 'DELETE', '/v2/webhooks/aaaaaaaa'],
    ['an id that cannot be one', 'GET', '/v2/webhooks/%E0%A4%A'],
  ])('are 404 not_found, for %s, at %s %s', async (_what, method, path) => {
    const answer = await ask(`${stage.mock.url}${path}`, method, method === 'PATCH' ? body : undefined);
    expect([answer.status, answer.json.errors[0].code]).toEqual([404, 'not_found']);
    expectHeaders(answer.headers);
  });

  test.each([
    ['PUT', '/v2/webhooks', 'GET, HEAD, POST'],
    ['PATCH', '/v2/webhooks', 'GET, HEAD, POST'],
    ['DELETE', '/v2/webhooks', 'GET, HEAD, POST'],
    ['OPTIONS', '/v2/webhooks', 'GET, HEAD, POST'],
    ['POST', '/v2/webhooks/aaaaaaaa', 'DELETE, GET, HEAD, PATCH'],
    ['PUT', '/v2/webhooks/aaaaaaaa', 'DELETE, GET, HEAD, PATCH'],
  ])('are 405 method_not_allowed, for %s on %s, with Allow: %s', async (method, path, allow) => {
    const answer = await ask(`${stage.mock.url}${path}`, method);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    expectHeaders(answer.headers);
  });

  test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic bW9jazptb2Nr', 'mock-api-secre', 'Bearer alice-rw'])(
    'are 401 unauthorized, when Authorization is %j, whatever is asked for',
    async (authorization) => {
      const headers: Record<string, string> =
        authorization === undefined ? {} : { Authorization: authorization };
      expect((await ask(webhooks(), 'POST', body, headers)).status).toBe(401);
      expect((await ask(`${stage.mock.url}/v2/nothing`, 'GET', undefined, headers)).status).toBe(401);
    },
  );
});

describe('the rate limit', () => {
  test('is 60 a minute for a credential, when the minute is over, all over again', async () => {
    const remaining = async () => (await ask(webhooks(), 'GET')).headers.get('jw-request-remaining');
    expect(await remaining()).toBe('59');
    expect(await remaining()).toBe('58');
    for (let i = 0; i < 58; i++) await remaining();
    const refused = await ask(webhooks(), 'GET');
    expect([refused.status, refused.headers.get('jw-request-remaining')]).toEqual([429, '0']);
    await stage.mock.advance(59_999);
    expect((await ask(webhooks(), 'GET')).status).toBe(429);
    await stage.mock.advance(1);
    expect(await remaining()).toBe('59');
  });

  test('counts both forms of a credential together, and not those that are refused', async () => {
    await ask(webhooks(), 'GET', undefined, { Authorization: 'Bearer mock-api-secret' });
    await ask(webhooks(), 'GET', undefined, { Authorization: 'another' });
    expect((await ask(webhooks(), 'GET')).headers.get('jw-request-remaining')).toBe('58');
  });
});

function expectHeaders(headers: Headers): void {
  expect(headers.get('jw-request-limit')).toBe('60');
  expect(headers.get('jw-request-remaining')).toMatch(/^\d+$/);
  expect(headers.get('jw-request-id')).toMatch(/^\w{16}$/);
  expect(headers.get('jw-proxied-request')).toBe('false');
  expect(headers.get('jw-dashboard-page')).toBe(`${stage.mock.url}/`);
}
