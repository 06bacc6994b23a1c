import { describe, expect, test } from '@jest/globals';
import { ask } from '../support/api.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage({ rateLimit: 10_000 });
const webhooks = () => `${stage.mock.url}/v2/webhooks`;
const body = { metadata: { name: 'a', webhook_url: 'https://example.com/', events: [], site_ids: [] } };
const Authorization = 'mock-api-secret';

describe('requests as real clients send them', () => {
  test.each([
    'mock-api-secret',
    'Bearer mock-api-secret',
    'bearer mock-api-secret',
    'BEARER  mock-api-secret',
  ])('work, when Authorization is %j, with 200', async (authorization) => {
    expect((await ask(webhooks(), 'GET', undefined, { Authorization: authorization })).status).toBe(200);
  });

  test('work with a trailing slash, in every operation, without a redirect', async () => {
    const created = await ask(`${webhooks()}/`, 'POST', body);
    const one = `${webhooks()}/${created.json.id}/`;
    const statuses = [
      created.status,
      (await ask(`${webhooks()}/`, 'GET')).status,
      (await ask(`${webhooks()}/?page=1`, 'GET')).status,
      (await ask(one, 'GET')).status,
      (await ask(one, 'PATCH', body)).status,
      (await ask(one, 'DELETE')).status,
    ];
    expect(statuses).toEqual([201, 200, 200, 200, 200, 204]);
  });

  test('work, when site_ids is null, as if it were not given: none at creation, unchanged at update', async () => {
    const metadata = { ...body.metadata, site_ids: null };
    const created = await ask(webhooks(), 'POST', { metadata });
    expect([created.status, created.json.metadata.site_ids]).toEqual([201, []]);
    const { id } = (await ask(webhooks(), 'POST', { metadata: { ...metadata, site_ids: ['s'] } })).json;
    const changed = await ask(`${webhooks()}/${id}`, 'PATCH', {
      metadata: { name: 'b', description: null, site_ids: null },
    });
    expect(changed.status).toBe(200);
    expect(changed.json.metadata).toMatchObject({ name: 'b', description: '', site_ids: ['s'] });
  });

  test('work without a Content-Type, when there is a body', async () => {
    const response = await fetch(webhooks(), {
      method: 'POST',
      headers: { Authorization },
      body: new TextEncoder().encode(JSON.stringify(body)),
    });
    expect(response.status).toBe(201);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'nonsense',
  ])('work with Content-Type %s, when the body is JSON, never 415', async (type) => {
    const answer = await ask(webhooks(), 'POST', body, { Authorization, 'Content-Type': type });
    expect(answer.status).toBe(201);
  });

  test('are never 415, when the content coding is unknown, but 400', async () => {
    const answer = await ask(webhooks(), 'POST', body, { Authorization, 'Content-Encoding': 'nonsense' });
    expect([answer.status, answer.json.errors[0].code]).toEqual([400, 'invalid_body']);
  });

  test('work with a Content-Type and no body, on GET and DELETE', async () => {
    const { id } = (await ask(webhooks(), 'POST', body)).json;
    expect((await ask(`${webhooks()}/${id}`, 'GET')).status).toBe(200);
    expect((await ask(`${webhooks()}/${id}`, 'DELETE')).status).toBe(204);
  });

  test('work with a body that is no JSON, on DELETE', async () => {
    const { id } = (await ask(webhooks(), 'POST', body)).json;
    expect(
      (await ask(`${webhooks()}/${id}`, 'DELETE', 'nonsense', { Authorization, 'Content-Length': '8' }))
        .status,
    ).toBe(204);
  });

  test.each<[string, number, number]>([
    ['q=', 1, 10],
    ['page=0&page_length=0&q=&sort=', 1, 10],
    ['page_length=9999', 1, 100],
    ['page=2&page_length=5', 2, 5],
    ['page=-1&page_length=abc&sort=nonsense:asc&q=&page[]=7', 1, 10],
  ])('list with ?%s as page %d of %d', async (query, page, page_length) => {
    for (let i = 0; i < 12; i++) await ask(webhooks(), 'POST', body);
    const { status, json } = await ask(`${webhooks()}?${query}`, 'GET');
    expect(status).toBe(200);
    expect(json).toMatchObject({ page, page_length, total: 12 });
    expect(json.webhooks).toHaveLength(Math.min(page_length, 12 - (page - 1) * page_length));
  });

  test('keep members that the service does not know, at the top or in the metadata, out of the answer', async () => {
    const answer = await ask(webhooks(), 'POST', {
      ...body,
      type: 'webhook',
      relationships: {},
      metadata: { ...body.metadata, color: 'red' },
    });
    expect(answer.status).toBe(201);
    expect(answer.json.metadata).toEqual({ ...body.metadata, description: '' });
  });
});
