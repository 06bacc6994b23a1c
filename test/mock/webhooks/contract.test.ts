import { describe, expect, test } from '@jest/globals';
import { kindNames } from '../../../src/notification/kinds.ts';
import { ask } from '../support/api.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage({ rateLimit: 10_000 });
const webhooks = () => `${stage.mock.url}/v2/webhooks`;
const metadata = {
  name: 'Example webhook',
  description: 'Example description',
  webhook_url: 'https://www.example.com/hook',
  events: ['conversions_complete', 'channel_idle'],
  site_ids: ['9KboGBFu', 'jsPxIVHl'],
};
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+[+-]\d\d:\d\d$/;

const create = (given: object = metadata) => ask(webhooks(), 'POST', { metadata: given });

describe('the Webhook resource, when it has been created', () => {
  test.each<[string, (value: unknown) => void]>([
    ['id', (value) => expect(value).toMatch(/^[A-Za-z0-9]{8}$/)],
    ['type', (value) => expect(value).toBe('webhook')],
    ['created', (value) => expect(value).toMatch(TIMESTAMP)],
    ['last_modified', (value) => expect(value).toMatch(TIMESTAMP)],
    ['metadata', (value) => expect(value).toEqual(metadata)],
    ['schema', (value) => expect(value).toBeNull()],
    ['secret', (value) => expect(Buffer.byteLength(String(value))).toBeGreaterThanOrEqual(32)],
    ['relationships', (value) => expect(value).toEqual({})],
  ])('has %s, as the specification has it', async (field, holds) => {
    const { json } = await create();
    holds(json[field]);
  });

  test('has no other field, beside those of the table', async () => {
    const { json } = await create();
    expect(Object.keys(json).sort()).toEqual(
      ['created', 'id', 'last_modified', 'metadata', 'relationships', 'schema', 'secret', 'type'].sort(),
    );
  });

  test.each(['get', 'list', 'update'])(
    'shows its secret, after creation, no more in %s',
    async (operation) => {
      const { json: created } = await create();
      const one = `${webhooks()}/${created.id}`;
      const answers = {
        get: () => ask(one, 'GET'),
        list: () => ask(webhooks(), 'GET'),
        update: () => ask(one, 'PATCH', { metadata }),
      };
      const { text } = await answers[operation as keyof typeof answers]();
      expect(text).toContain(created.id);
      expect(text).not.toContain('secret');
      expect(text).not.toContain(created.secret);
    },
  );
});

describe('the metadata object', () => {
  test.each(['name', 'webhook_url', 'events'])(
    'needs %s, at creation, else 400 invalid_body',
    async (field) => {
      const { status, json } = await create({ ...metadata, [field]: undefined });
      expect([status, json.errors[0].code]).toEqual([400, 'invalid_body']);
    },
  );

  test.each([
    ['description', ''],
    ['site_ids', []],
  ])('takes %s as optional, when it is absent, and answers %j', async (field, value) => {
    const { status, json } = await create({ ...metadata, [field]: undefined });
    expect([status, json.metadata[field]]).toEqual([201, value]);
  });

  test('answers a description of "", when null is sent, never null', async () => {
    expect((await create({ ...metadata, description: null })).json.metadata.description).toBe('');
  });

  test.each(kindNames)('takes %s, among its events, with 201', async (kind) => {
    const { status, json } = await create({ ...metadata, events: [kind] });
    expect([status, json.metadata.events]).toEqual([201, [kind]]);
  });

  test.each([
    'https://www.example.com/hook',
    'http://127.0.0.1:3000/webhooks/media',
    'http://localhost:3000/webhooks/media',
    'http://[::1]:3000/webhooks/media',
  ])('takes %s, as webhook_url, with 201', async (webhook_url) => {
    expect((await create({ ...metadata, webhook_url })).status).toBe(201);
  });
});

describe('the routes', () => {
  test('POST /v2/webhooks creates a webhook, with 201', async () => {
    expect((await create()).status).toBe(201);
  });

  test('GET /v2/webhooks lists the webhooks in the envelope, newest first, with 200', async () => {
    const ids = [];
    for (let i = 0; i < 3; i++) {
      ids.unshift((await create()).json.id);
      await stage.mock.advance(1000);
    }
    const { status, json } = await ask(webhooks(), 'GET');
    expect(status).toBe(200);
    expect(json).toEqual({ page: 1, page_length: 10, total: 3, webhooks: expect.any(Array) });
    expect(json.webhooks.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  test('GET /v2/webhooks/{id} returns a webhook, with 200', async () => {
    const { secret: _, ...created } = (await create()).json;
    const { status, json } = await ask(`${webhooks()}/${created.id}`, 'GET');
    expect([status, json]).toEqual([200, created]);
  });

  test.each([
    [{ name: 'Another' }],
    [{ description: 'Another' }],
    [{ webhook_url: 'https://www.example.com/other' }],
    [{ events: ['media_created'] }],
    [{ site_ids: ['t8JLGRl9'] }],
    [{}],
    [{ ...metadata, name: 'All of them' }],
  ])('PATCH /v2/webhooks/{id} merges %j into the metadata, with 200', async (change) => {
    const { secret: _, ...created } = (await create()).json;
    await stage.mock.advance(1500);
    const { status, json } = await ask(`${webhooks()}/${created.id}`, 'PATCH', { metadata: change });
    expect(status).toBe(200);
    expect(json).toEqual({
      ...created,
      last_modified: expect.stringMatching(TIMESTAMP),
      metadata: { ...metadata, ...change },
    });
    expect(Date.parse(json.last_modified) - Date.parse(created.last_modified)).toBe(1500);
  });

  test('DELETE /v2/webhooks/{id} deletes a webhook, with 204 and no body, and it is gone', async () => {
    const one = `${webhooks()}/${(await create()).json.id}`;
    expect(await ask(one, 'DELETE')).toMatchObject({ status: 204, text: '' });
    expect((await ask(one, 'GET')).status).toBe(404);
    expect((await ask(one, 'DELETE')).status).toBe(404);
    expect((await ask(webhooks(), 'GET')).json.total).toBe(0);
  });
});
