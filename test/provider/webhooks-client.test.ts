import { afterEach, describe, expect, test } from '@jest/globals';
import { MockProvider } from '../../src/mock/mock-provider.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { closeAll, closing, collect, patient, scripted } from './support.ts';

afterEach(closeAll);

const hook = (name: string) =>
  ({
    name,
    description: 'a webhook',
    webhook_url: 'https://receiver.example/hooks',
    events: ['media_available', 'channel_idle'],
    site_ids: ['site0001'],
  }) as const;

async function startWebhooks(apiSecret?: string) {
  const mock = closing(await MockProvider.start({ port: 0, rateLimit: 100_000 }));
  const client = new WebhooksClient({ baseUrl: mock.url, apiSecret: apiSecret ?? mock.apiSecret });
  return { mock, client };
}

describe('against the mock', () => {
  test('runs the whole life of a webhook, when all is well, from registration to deletion', async () => {
    const { client } = await startWebhooks();
    const { secret, ...created } = await client.create(hook('first'));
    expect(secret.length).toBeGreaterThanOrEqual(32);
    expect(created).toMatchObject({ type: 'webhook', metadata: hook('first'), schema: null });
    expect(await client.get(created.id)).toEqual(created);
    const updated = await client.update(created.id, { name: 'renamed', events: ['track_created'] });
    expect(updated.metadata).toEqual({ ...hook('first'), name: 'renamed', events: ['track_created'] });
    expect(updated).not.toHaveProperty('secret');
    await client.delete(created.id);
    await expect(client.get(created.id)).rejects.toMatchObject({ code: 'not_found', status: 404 });
    await expect(client.delete(created.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('registers a webhook, when it has no description, with an empty one', async () => {
    const { client } = await startWebhooks();
    const { description: _, ...metadata } = hook('bare');
    expect((await client.create(metadata)).metadata.description).toBe('');
  });

  test('lists all webhooks, when there are several pages, in order of creation', async () => {
    const { client, mock } = await startWebhooks();
    const names = Array.from({ length: 23 }, (_, n) => `hook ${n}`);
    for (const name of names) mock.createWebhook({ ...hook(name), events: ['media_created'], site_ids: [] });
    const namesOf = async (query = {}) =>
      (await collect(client.list(query))).map(({ metadata }) => metadata.name).sort();
    expect(await namesOf()).toEqual([...names].sort());
    expect(await namesOf({ page_length: 5 })).toEqual([...names].sort());
    expect(await namesOf({ page_length: 23 })).toEqual([...names].sort());
    expect(await namesOf({ q: 'name:hook 22' })).toContain('hook 22');
  });

  test('lists nothing, when there is nothing', async () => {
    const { client } = await startWebhooks();
    expect(await collect(client.list())).toEqual([]);
    expect(await client.page(1)).toMatchObject({ page: 1, total: 0, webhooks: [] });
  });

  test('says what is wrong, when the secret is another, as unauthorized', async () => {
    const { client } = await startWebhooks('another-secret');
    const error = await client.page(1).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'unauthorized', status: 401, operation: 'GET /v2/webhooks' });
    expect(error.message).toBe(
      'GET /v2/webhooks: 401 unauthorized: Provided authentication credentials are invalid. Check the API secret: it ' +
        'must be that of a v2 API credential',
    );
  });

  test('says what is wrong, when the provider refuses what is sent, as invalid_body', async () => {
    const { client } = await startWebhooks();
    const call = client.create({ ...hook('plain'), webhook_url: 'http://receiver.example/' });
    await expect(call).rejects.toMatchObject({ code: 'invalid_body', status: 400 });
  });
});

describe('against a server that differs', () => {
  const answer = {
    id: '2yW4KmiG',
    type: 'webhook',
    created: '2024-08-27T00:20:57.123000+00:00',
    last_modified: '2024-08-27T00:20:57.123000+00:00',
    metadata: hook('x'),
    schema: null,
    relationships: {},
  };
  const clientOf = (baseUrl: string) =>
    new WebhooksClient({ baseUrl, apiSecret: 's3cret', ...patient().options });

  test('sends the raw secret, when it calls, as the whole of Authorization', async () => {
    const { url, got } = await scripted([201, { ...answer, secret: 'shared' }]);
    await clientOf(url).create(hook('x'));
    expect(got).toMatchObject([
      {
        method: 'POST',
        url: '/v2/webhooks',
        headers: { authorization: 's3cret', 'content-type': 'application/json' },
        body: JSON.stringify({ metadata: hook('x') }),
      },
    ]);
  });
  test('sends no body and no Content-Type, when there is nothing to say', async () => {
    const { url, got } = await scripted([200, answer]);
    await clientOf(url).get('2yW4KmiG');
    expect([got[0]?.body, got[0]?.headers['content-type']]).toEqual(['', undefined]);
  });
  test('keeps members that it does not know, when an answer has them, and takes a description of null', async () => {
    const metadata = { ...answer.metadata, description: null, events: ['brand_new_kind'] };
    const { url } = await scripted([200, { ...answer, metadata }]);
    expect(await clientOf(url).get('2yW4KmiG')).toEqual({
      ...answer,
      metadata: { ...metadata, description: '' },
    });
  });
  test('says what the answer lacks and what to do, when a creation gives no secret', async () => {
    const { url } = await scripted([201, answer]);
    await expect(clientOf(url).create(hook('x'))).rejects.toMatchObject({
      code: 'unexpected_answer',
      status: 201,
      message: expect.stringMatching(
        /\(secret: .*The webhook may be registered in spite of this: look at the list/,
      ),
    });
  });
  test('gives the code of the provider, when it is a new one, as it is', async () => {
    const { url } = await scripted([
      400,
      { errors: [{ code: 'site_frozen', description: 'The site is frozen.' }] },
    ]);
    await expect(clientOf(url).get('x')).rejects.toMatchObject({
      code: 'site_frozen',
      message: expect.stringMatching(/^GET \/v2\/webhooks\/x: 400 site_frozen: The site is frozen\. Correct/),
    });
  });
});
