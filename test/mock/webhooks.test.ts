import { describe, expect, test } from '@jest/globals';
import { ask } from './support/api.ts';
import { useStage } from './support/stage.ts';

const receiverHosts = ['Receiver-1', 'receiver-2:8080', 'receiver-3:80'];
const stage = useStage({ rateLimit: 1_000_000, receiverHosts });
const Authorization = 'mock-api-secret';
const v2 = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  ask(`${stage.mock.url}/v2${path}`, method, body, headers);
const metadata = {
  name: 'Example webhook',
  description: 'Example description',
  webhook_url: 'https://www.example.com/hook',
  events: ['conversions_complete', 'channel_idle'],
  site_ids: ['9KboGBFu', 'jsPxIVHl'],
};
const create = async (given: object = {}) =>
  (await v2('POST', '/webhooks', { metadata: { ...metadata, ...given } })).json;
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00$/);

test('a webhook is created with 201 and its secret, and shown, changed and listed without it, until it is deleted', async () => {
  const created = await v2('POST', '/webhooks', { metadata });
  const { id, secret } = created.json;
  const shown = {
    id: expect.stringMatching(/^[A-Za-z0-9]{8}$/),
    type: 'webhook',
    created: TIMESTAMP,
    last_modified: TIMESTAMP,
    metadata,
    schema: null,
    relationships: {},
  };
  expect([created.status, created.json]).toEqual([201, { ...shown, secret: expect.any(String) }]);
  expect(Buffer.byteLength(secret)).toBeGreaterThanOrEqual(32);
  await stage.mock.advance(1500);
  const changed = await v2('PATCH', `/webhooks/${id}`, { metadata: { name: 'Another' } });
  expect([changed.status, changed.json]).toEqual([
    200,
    { ...shown, metadata: { ...metadata, name: 'Another' } },
  ]);
  expect(Date.parse(changed.json.last_modified) - Date.parse(changed.json.created)).toBe(1500);
  expect((await v2('GET', `/webhooks/${id}`)).json).toEqual(changed.json);
  const list = { page: 1, page_length: 10, total: 1, webhooks: [changed.json] };
  expect((await v2('GET', '/webhooks')).json).toEqual(list);
  expect(await v2('DELETE', `/webhooks/${id}`)).toMatchObject({ status: 204, text: '' });
  expect((await v2('GET', `/webhooks/${id}`)).status).toBe(404);
});

describe('the metadata', () => {
  test.each([
    [{ description: undefined }, { description: '' }],
    [{ webhook_url: 'http://[::1]:3000/x' }, { webhook_url: 'http://[::1]:3000/x' }],
    [{ webhook_url: 'http://RECEIVER-1:3000/x' }, { webhook_url: 'http://RECEIVER-1:3000/x' }],
    [{ webhook_url: 'http://receiver-2:8080/' }, { webhook_url: 'http://receiver-2:8080/' }],
    [{ webhook_url: 'http://receiver-3/x' }, { webhook_url: 'http://receiver-3/x' }],
    [{ color: 'red' }, {}],
  ])('%j is taken, at creation, as %j', async (given, taken) => {
    expect((await create(given)).metadata).toEqual({ ...metadata, ...taken });
  });

  test.each([
    [{ description: null }, { description: '' }],
    [{ events: ['media_created'], site_ids: null }, { events: ['media_created'] }],
  ])('%j is merged, at update, as %j', async (change, changed) => {
    const { id } = await create();
    const { json } = await v2('PATCH', `/webhooks/${id}`, { metadata: change });
    expect(json.metadata).toEqual({ ...metadata, ...changed });
  });

  const NO_URL = 'metadata.webhook_url: must be an https URL, or ';
  test.each<[unknown, string]>([
    ['{', 'in JSON at position 1'],
    ['x'.repeat(1_100_000), 'request entity too large'],
    [[], 'Invalid input: expected object, received array'],
    [metadata, 'metadata: Invalid input: expected object'],
    [{ metadata: { ...metadata, events: ['channel_idle', 'exploded'] } }, 'metadata.events.1: Invalid'],
    [{ metadata: { ...metadata, webhook_url: 'http://example.com/' } }, NO_URL],
    [{ metadata: { ...metadata, webhook_url: 'https://example.com/\r\nX: y' } }, NO_URL],
    [{ metadata: { ...metadata, webhook_url: 'http://receiver-1.evil.example/' } }, NO_URL],
    [{ metadata: { ...metadata, webhook_url: 'http://receiver-2/' } }, NO_URL],
    [{ metadata: { ...metadata, name: 5 } }, 'metadata.name: Invalid input: expected string'],
  ])('is refused with 400 invalid_body and the reason, in the body %.60j', async (body, why) => {
    const { id } = await create();
    for (const answer of [await v2('POST', '/webhooks', body), await v2('PATCH', `/webhooks/${id}`, body)]) {
      const [{ code, description }, ...others] = answer.json.errors;
      expect([answer.status, code, others]).toEqual([400, 'invalid_body', []]);
      expect(description).toMatch(/^The provided request body is invalid\. /);
      expect(description).toContain(why);
    }
  });

  test('needs a name, an address and events, at creation, else 400 names each that is missing', async () => {
    const { status, json } = await v2('POST', '/webhooks', { metadata: {} });
    const named = [...json.errors[0].description.matchAll(/metadata\.(\w+): /g)].map(([, name]) => name);
    expect([status, named]).toEqual([400, ['name', 'webhook_url', 'events']]);
  });
});

test.each([
  ['', 'bobby2 alice2 bobby1 alice1'],
  ['sort=name:asc', 'alice1 alice2 bobby1 bobby2'],
  ['sort=description:dsc,%20name:asc', 'bobby1 bobby2 alice1 alice2'],
  ['q=name:bobby%20site_ids:two', 'bobby2'],
  ['q=events:channel&page_length=1', 'bobby2', 1, 1],
  ['page=2&page_length=3', 'alice1', 2, 3],
  ['page=-1&page_length=abc&page[]=7', 'bobby2 alice2 bobby1 alice1', 1, 10],
])('a list asked for by ?%s has the webhooks %s', async (query, expected, page = 1, page_length = 10) => {
  for (const site of ['one', 'two']) {
    for (const [name, description] of [
      ['alice', 'a'],
      ['bobby', 'b'],
    ]) {
      await create({ name: `${name}${site === 'one' ? 1 : 2}`, description, site_ids: [site] });
      await stage.mock.advance(1000);
    }
  }
  const { webhooks, ...shown } = (await v2('GET', `/webhooks?${query}`)).json;
  const names = webhooks.map((one: { metadata: { name: string } }) => one.metadata.name);
  expect(names.join(' ')).toBe(expected);
  expect(shown).toEqual({ page, page_length, total: query.includes('site_ids') ? 1 : 4 });
});

const INVALID = 'Provided authentication credentials are invalid';
const NOT_ALLOWED = 'Provided method is not allowed on the targeted resource';
test.each<[number, string, string, string, string, Record<string, string>?]>([
  [401, 'unauthorized', INVALID, 'GET', '/nothing', { Authorization: 'mock-api-secre' }],
  [401, 'unauthorized', INVALID, 'GET', '/webhooks', {}],
  [404, 'not_found', 'requested resource could not be found', 'GET', '/webhooks/aaaaaaaa'],
  [404, 'not_found', 'requested resource could not be found', 'GET', '/nothing'],
  [405, 'method_not_allowed', NOT_ALLOWED, 'PUT', '/webhooks'],
  [403, 'forbidden', 'Requestor does not have permission to perform the request', 'GET', '/webhooks'],
  [409, 'conflict', 'Request conflicts with state of target resource', 'POST', '/webhooks'],
  [422, 'unprocessable', 'Provided request cannot be processed', 'DELETE', '/webhooks/aaaaaaaa'],
])('an error is %d %s "%s", in the envelope and with the five headers, for %s %s %j', async (...row) => {
  const [status, code, description, method, path, headers] = row;
  if ([403, 409, 422].includes(status)) stage.mock.setFaults({ [code]: 1 });
  const answer = await v2(method, path, undefined, headers);
  expect([answer.status, answer.json]).toEqual([status, { errors: [{ code, description }] }]);
  const named = ['limit', 'remaining'].map((name) => Number(answer.headers.get(`jw-request-${name}`)));
  expect(named).toEqual([1_000_000, expect.any(Number)]);
  expect(answer.headers.get('jw-request-id')).toMatch(/^\w{16}$/);
  expect(answer.headers.get('jw-proxied-request')).toBe('false');
  expect(answer.headers.get('jw-dashboard-page')).toBe(`${stage.mock.url}/`);
  if (status === 405) expect(answer.headers.get('allow')).toMatch(/GET, HEAD/);
});

test('every operation works with a slash at the end, without a redirect', async () => {
  const created = await v2('POST', '/webhooks/', { metadata });
  const one = `/webhooks/${created.json.id}/`;
  const answers = [created, await v2('GET', '/webhooks/?page=1'), await v2('GET', one)];
  answers.push(await v2('PATCH', one, { metadata }), await v2('DELETE', one));
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 204]);
});

const limited = useStage({ rateLimit: 3 });
const get = async (given = Authorization) => {
  const { status, headers } = await ask(`${limited.mock.url}/v2/webhooks`, 'GET', undefined, {
    Authorization: given,
  });
  return [status, headers.get('jw-request-remaining')];
};
test('the rate limit counts both forms of a credential for a minute of the clock, and not those that are refused', async () => {
  expect([await get(), await get('another'), await get(`BEARER  ${Authorization}`), await get()]).toEqual([
    [200, '2'],
    [401, '3'],
    [200, '1'],
    [200, '0'],
  ]);
  await limited.mock.advance(59_999);
  expect(await get()).toEqual([429, '0']);
  await limited.mock.advance(1);
  expect(await get()).toEqual([200, '2']);
});
