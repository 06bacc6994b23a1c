import { describe, expect, test } from '@jest/globals';
import { StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import {
  clientsOf,
  failureOf,
  HOOK,
  NEW_HOOK,
  type Script,
  SOON,
  STATUS,
  scripted,
  startMock,
} from './support.ts';

const DAY = 86_400_000;

describe('webhooks', () => {
  const hook = {
    name: 'first',
    description: 'a webhook',
    webhook_url: 'https://receiver.example/hooks',
    events: ['media_available', 'channel_idle'],
    site_ids: ['site0001'],
  } as const;

  async function start(apiSecret?: string) {
    const mock = await startMock();
    return {
      mock,
      client: new WebhooksClient({ baseUrl: mock.url, apiSecret: apiSecret ?? mock.apiSecret }),
    };
  }

  test('are registered, read, changed and deleted, when all is well', async () => {
    const { client } = await start();
    const { secret, ...created } = await client.create(hook);
    expect(secret.length).toBeGreaterThanOrEqual(32);
    expect(created).toMatchObject({ type: 'webhook', metadata: hook, schema: null });
    expect(await client.get(created.id)).toEqual(created);
    const updated = await client.update(created.id, { name: 'renamed', events: ['track_created'] });
    expect(updated.metadata).toEqual({ ...hook, name: 'renamed', events: ['track_created'] });
    expect(updated).not.toHaveProperty('secret');
    await client.delete(created.id);
    await expect(client.get(created.id)).rejects.toMatchObject({ code: 'not_found', status: 404 });
    await expect(client.delete(created.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('are listed whole, when there are several pages or none', async () => {
    const { client, mock } = await start();
    expect(await Array.fromAsync(client.list())).toEqual([]);
    const names = Array.from({ length: 23 }, (_, n) => `hook ${n}`);
    for (const name of names) mock.createWebhook({ ...hook, name, events: ['media_created'], site_ids: [] });
    const namesOf = async (query = {}) =>
      (await Array.fromAsync(client.list(query))).map(({ metadata }) => metadata.name);
    for (const page_length of [5, 23, 100])
      expect((await namesOf({ page_length })).toSorted()).toEqual(names.toSorted());
    expect(await namesOf({ q: 'name:hook 22' })).toContain('hook 22');
  });

  test('cannot be managed, when the secret is another or a member is wrong, and the error says what to do', async () => {
    const { client } = await start('another-secret');
    const { message } = await failureOf(client.page(1));
    expect(message).toBe(
      'GET /v2/webhooks: 401 unauthorized: Provided authentication credentials are invalid. Check the API secret: it ' +
        'must be that of a v2 API credential',
    );
    const plain = (await start()).client.create({ ...hook, webhook_url: 'http://receiver.example/' });
    await expect(plain).rejects.toMatchObject({ code: 'invalid_body', status: 400 });
  });

  test('are called with the raw secret, when there is something to say as JSON', async () => {
    const { url, got } = await scripted([201, HOOK], [200, HOOK]);
    const { webhooks } = clientsOf(url);
    const { metadata } = await webhooks.create(NEW_HOOK);
    expect(metadata.description).toBe('');
    await webhooks.get('2yW4KmiG');
    const headers = { authorization: 's3cret', 'content-type': 'application/json' };
    const body = JSON.stringify({ metadata: NEW_HOOK });
    expect(got[0]).toMatchObject({ method: 'POST', url: '/v2/webhooks', headers, body });
    expect([got[1]?.url, got[1]?.body, got[1]?.headers['content-type']]).toEqual([
      '/v2/webhooks/2yW4KmiG',
      '',
      undefined,
    ]);
  });

  test('have the code and words of the provider in an error, when it refuses, and what an answer lacks', async () => {
    const refusal = { errors: [{ code: 'site_frozen', description: 'The site is frozen.' }] };
    const { url } = await scripted([400, refusal], [201, { ...HOOK, secret: undefined }]);
    const { webhooks } = clientsOf(url);
    const refused = await failureOf(webhooks.get('x'));
    expect(refused.code).toBe('site_frozen');
    expect(refused.message).toMatch(/^GET \/v2\/webhooks\/x: 400 site_frozen: The site is frozen\. Correct/);
    const secretless = await failureOf(webhooks.create(NEW_HOOK));
    expect(secretless).toMatchObject({ code: 'unexpected_answer', status: 201 });
    expect(secretless.message).toMatch(/\(secret: .*The webhook may be registered in spite of this/);
  });
});

describe('statuses', () => {
  async function start(token = 'alice-rw') {
    const mock = await startMock();
    const at = (ms: number) => new Date(mock.now() + ms);
    return { at, client: new StatusesClient({ baseUrl: mock.url, token }) };
  }

  test('are scheduled, read, moved, cancelled and published, when all is well', async () => {
    const { client, at } = await start();
    const poll = { options: ['a', 'b'], expires_in: 3600, multiple: true };
    const time = at(DAY);
    const created = await client.schedule({ status: 'hello', visibility: 'unlisted', poll }, time);
    expect(created).toMatchObject({
      scheduled_at: time.toISOString(),
      params: { text: 'hello', visibility: 'unlisted', poll, media_ids: null },
      media_attachments: [],
    });
    expect(await client.get(created.id)).toEqual(created);
    const later = at(2 * DAY).toISOString();
    expect(await client.reschedule(created.id, later)).toEqual({ ...created, scheduled_at: later });
    await client.cancel(created.id);
    expect(await failureOf(client.get(created.id))).toMatchObject({ code: 'not_found', status: 404 });
    expect(await client.publish({ status: 'now' })).toMatchObject({ content: '<p>now</p>' });
  });

  test('are made once, when calls with one key are repeated', async () => {
    const { client, at } = await start();
    const [status, time, key] = [{ status: 'once' }, at(DAY), { idempotencyKey: 'event-1' }];
    const first = await client.schedule(status, time, key);
    expect(await client.schedule(status, time, key)).toEqual(first);
    expect((await client.schedule(status, time)).id).not.toBe(first.id);
  });

  test.each([
    ['nobody', 'unauthorized', 401, 'The access token is invalid. Check the user token'],
    ['alice-write', 'forbidden', 403, 'outside the authorized scopes. Use a token with the scopes'],
    ['app-only', 'unprocessable', 422, 'This method requires an authenticated user. Correct'],
  ])(
    'cannot be read, when the token is %s, and the error says what to do',
    async (token, code, status, text) => {
      const { client } = await start(token);
      const error = await failureOf(client.get('1'));
      expect(error).toMatchObject({ code, status, operation: 'GET /api/v1/scheduled_statuses/1' });
      expect(error.message).toContain(text);
    },
  );

  test('are refused, when the time is too soon, and the error says how far ahead it must lie', async () => {
    const { client, at } = await start();
    const error = await failureOf(client.schedule({ status: 'soon' }, at(60_000)));
    expect(error.code).toBe('unprocessable');
    expect(error.message).toMatch(/must be in the future\. .* a time must lie more than 5 minutes ahead$/);
  });

  test('are listed page by page, when there are 45, from either end and within bounds', async () => {
    const { client, at } = await start();
    const ids: string[] = [];
    for (let n = 0; n < 45; n++)
      ids.unshift((await client.schedule({ status: `${n}` }, at(DAY * (1 + Math.floor(n / 20))))).id);
    const listed = async (listing = {}) => (await Array.fromAsync(client.list(listing))).map(({ id }) => id);
    expect(await listed()).toEqual(ids);
    for (const limit of [7, 40])
      expect(await listed({ direction: 'newer', limit })).toEqual(ids.toReversed());
    const [max_id, lowest] = [ids[5], ids[25]];
    expect(await listed({ since_id: lowest, max_id, limit: 3 })).toEqual(ids.slice(6, 25));
    expect(await listed({ direction: 'newer', min_id: lowest, max_id, limit: 3 })).toEqual(
      ids.slice(6, 25).toReversed(),
    );
    const { statuses, ...cursors } = await client.page({ limit: 2, max_id: `${ids[9]}` });
    expect([statuses.map(({ id }) => id), cursors]).toEqual([
      ids.slice(10, 12),
      { next: ids[11], prev: ids[10] },
    ]);
  });

  test('are asked for at the base URL alone, when a link of the answer names another host', async () => {
    const Link = '<https://evil.example/api/v1/scheduled_statuses?max_id=1>; rel="next"';
    const { url, got } = await scripted([200, [STATUS], { Link }], [200, []]);
    await Array.fromAsync(clientsOf(`${url}/`).statuses.list());
    const path = '/api/v1/scheduled_statuses?limit=40';
    expect(got.map((one) => one.url)).toEqual([path, `${path}&max_id=1`]);
  });

  test('are sent with a Bearer token, JSON and a key, and what an answer leaves out is null', async () => {
    const { url, got } = await scripted([200, STATUS]);
    const { params } = await clientsOf(url).statuses.schedule({ status: 'x' }, SOON);
    expect(params).toMatchObject({ text: 'x', poll: null });
    const headers = {
      authorization: 'Bearer t0ken',
      'idempotency-key': expect.stringMatching(/^[\da-f-]{36}$/),
    };
    const body = `{"status":"x","scheduled_at":"${SOON}"}`;
    expect(got).toMatchObject([{ method: 'POST', url: '/api/v1/statuses', headers, body }]);
  });

  test('are told of, when one that should be scheduled is published at once', async () => {
    const created_at = '2026-01-01T00:00:00Z';
    const { url } = await scripted([
      200,
      { id: '9', created_at, content: '', visibility: 'public', url: null },
    ]);
    const error = await failureOf(clientsOf(url).statuses.schedule({ status: 'x' }, SOON));
    expect(error.code).toBe('published_at_once');
    expect(error.message).toContain('published it, as status 9. Schedule more than 5 minutes ahead');
  });

  test('are refused before anything is sent, when the time is no date or no status can have the id', async () => {
    const { url, got } = await scripted([200, STATUS]);
    const { statuses } = clientsOf(url);
    for (const time of [new Date(Number.NaN), '', 'soon']) {
      await expect(statuses.schedule({ status: 'x' }, time)).rejects.toThrow(RangeError);
      await expect(statuses.reschedule('7', time)).rejects.toThrow(RangeError);
    }
    for (const id of ['', '.', '..', '../../x', 'a/b', 'a?b', 'ä'])
      for (const call of [() => statuses.get(id), () => statuses.cancel(id)])
        expect((await failureOf(call())).code).toBe('not_found');
    expect(got).toEqual([]);
  });
});

describe('an answer that is none of the API', () => {
  test.each<[string, Script]>([
    ['not JSON', (response) => response.end('<html>hello</html>')],
    ['JSON of another shape', [200, { hello: 'world' }]],
    ['empty', (response) => response.end()],
    ['a redirect', [302, {}, { Location: 'https://elsewhere.example/' }]],
  ])('is refused, when it is %s, with what to check', async (_, script) => {
    const { url, got } = await scripted(script);
    const error = await failureOf(clientsOf(url).statuses.get('1'));
    expect(error.code).toBe('unexpected_answer');
    expect(error.message).toContain('Check that the base URL');
    expect(got).toHaveLength(1);
  });

  test('is refused, when a list is not found, which cannot be missing', async () => {
    const { url } = await scripted([404, { error: 'Not Found' }]);
    const { statuses, webhooks } = clientsOf(url);
    const lists = await Promise.all([statuses.page(), webhooks.page(1)].map(failureOf));
    for (const error of lists) expect(error).toMatchObject({ code: 'unexpected_answer', status: 404 });
    const calls = [statuses.get('1'), statuses.publish({ status: 'x' }), webhooks.get('1')];
    for (const error of await Promise.all(calls.map(failureOf))) expect(error.code).toBe('not_found');
  });
});
