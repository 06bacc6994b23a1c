import { afterEach, describe, expect, test } from '@jest/globals';
import { ProviderError, StatusesClient } from '../../src/provider/index.ts';
import { closeAll, collect, patient, scripted, startStatuses } from './support.ts';

afterEach(closeAll);

const MINUTE = 60_000;
const DAY = 86_400_000;
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms);
const problemOf = async (promise: Promise<unknown>): Promise<ProviderError> => {
  const error = await promise.then(
    () => new Error('nothing went wrong'),
    (thrown) => thrown,
  );
  if (error instanceof ProviderError) return error;
  throw error;
};

describe('against the mock', () => {
  test('runs the whole life of a scheduled status, when all is well, from creation to cancellation', async () => {
    const { client } = await startStatuses();
    const created = await client.schedule({ status: 'hello', visibility: 'unlisted' }, at(DAY));
    expect(created).toMatchObject({
      id: '1',
      scheduled_at: at(DAY).toISOString(),
      params: { text: 'hello', visibility: 'unlisted', poll: null, media_ids: null },
      media_attachments: [],
    });
    expect(await client.get('1')).toEqual(created);
    const moved = await client.reschedule('1', at(2 * DAY).toISOString());
    expect(moved).toEqual({ ...created, scheduled_at: at(2 * DAY).toISOString() });
    await client.cancel('1');
    expect(await problemOf(client.get('1'))).toMatchObject({ code: 'not_found', status: 404 });
  });

  test('publishes, when there is no time, at once', async () => {
    const { client } = await startStatuses();
    expect(await client.publish({ status: 'now' })).toMatchObject({
      content: '<p>now</p>',
      visibility: 'public',
    });
  });

  test('sends poll and warning, when they are given, as the provider understands them', async () => {
    const { client } = await startStatuses();
    const poll = { options: ['a', 'b'], expires_in: 3600, multiple: true };
    const { params } = await client.schedule(
      { status: 'x', poll, spoiler_text: 'y', sensitive: true },
      at(DAY),
    );
    expect(params).toMatchObject({ poll, spoiler_text: 'y', sensitive: true });
  });

  test('makes one status, when a call with one key is repeated, and answers it again', async () => {
    const { client } = await startStatuses();
    const idempotencyKey = 'event-1';
    const first = await client.schedule({ status: 'once' }, at(DAY), { idempotencyKey });
    expect(await client.schedule({ status: 'once' }, at(DAY), { idempotencyKey })).toEqual(first);
    expect((await client.schedule({ status: 'once' }, at(DAY))).id).not.toBe(first.id);
  });

  test.each([
    ['nobody', 'unauthorized', 401, 'The access token is invalid. Check the user token'],
    ['alice-expired', 'unauthorized', 401, 'The access token expired. Check the user token'],
    ['alice-write', 'forbidden', 403, 'outside the authorized scopes. Use a token with the scopes'],
    ['app-only', 'unprocessable', 422, 'This method requires an authenticated user. Correct'],
  ])('says what is wrong, when the token is %s, as %s', async (token, code, status, text) => {
    const { client } = await startStatuses(token);
    const error = await problemOf(client.get('1'));
    expect(error).toMatchObject({ code, status, operation: 'GET /api/v1/scheduled_statuses/1' });
    expect(error.message).toContain(text);
  });

  test('says what is wrong, when a time is too soon, as unprocessable', async () => {
    const { client } = await startStatuses();
    const error = await problemOf(client.schedule({ status: 'soon' }, at(4 * MINUTE)));
    expect(error).toMatchObject({ code: 'unprocessable', status: 422 });
    expect(error.message).toBe(
      'POST /api/v1/statuses: 422 unprocessable: Validation failed: Scheduled at The scheduled date must be in the ' +
        'future. Correct the values that the provider names; a time must lie more than 5 minutes ahead',
    );
    const { id } = await client.schedule({ status: 'later' }, at(DAY));
    expect((await problemOf(client.reschedule(id, at(0)))).code).toBe('unprocessable');
  });

  test('is told to wait, when the limit of the provider is exceeded, until it is renewed', async () => {
    const { client, clock } = await startStatuses();
    await clock.advance(MINUTE);
    for (let n = 0; n < 300; n++) await client.page({ limit: 1 });
    const error = await problemOf(client.page());
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', status: 429, retryAfterMs: 4 * MINUTE });
  });
});

describe('lists of 45', () => {
  const ids = Array.from({ length: 45 }, (_, n) => String(45 - n));
  async function startWith45() {
    const started = await startStatuses();
    for (let n = 0; n < 45; n++) {
      await started.client.schedule({ status: `${n}` }, at(DAY * (1 + Math.floor(n / 20))));
    }
    started.requests.length = 0;
    return started;
  }
  const idsOf = async (statuses: AsyncIterable<{ id: string }>) =>
    (await collect(statuses)).map(({ id }) => id);

  test('are given, when nothing is said, from the newest down', async () => {
    const { client, requests } = await startWith45();
    expect(await idsOf(client.list())).toEqual(ids);
    expect(requests).toEqual([
      'GET /api/v1/scheduled_statuses?limit=40',
      'GET /api/v1/scheduled_statuses?limit=40&max_id=6',
    ]);
  });
  test('are given, when the direction is newer, from the oldest up', async () => {
    const { client } = await startWith45();
    expect(await idsOf(client.list({ direction: 'newer' }))).toEqual(ids.toReversed());
    expect(await idsOf(client.list({ direction: 'newer', limit: 7 }))).toEqual(ids.toReversed());
  });
  test('keep to the bounds, when there are any, on every page', async () => {
    const { client } = await startWith45();
    expect(await idsOf(client.list({ since_id: '20', max_id: '40', limit: 3 }))).toEqual(ids.slice(6, 25));
    expect(await idsOf(client.list({ direction: 'newer', min_id: '20', max_id: '40', limit: 3 }))).toEqual(
      ids.slice(6, 25).toReversed(),
    );
  });
  test('are fetched, when fewer are wanted, only as far as needed', async () => {
    const { client, requests } = await startWith45();
    for await (const { id } of client.list({ limit: 5 })) if (id === '39') break;
    expect(requests).toHaveLength(2);
  });
  test('are given page by page, when asked for, with the cursors of the pages beside', async () => {
    const { client } = await startWith45();
    const { statuses, next, prev } = await client.page({ limit: 2, max_id: '10' });
    expect([statuses.map(({ id }) => id), next, prev]).toEqual([['9', '8'], '8', '9']);
    expect(await client.page({ max_id: '1' })).toEqual({ statuses: [] });
  });
});

describe('against a server that differs', () => {
  const status = (id: string, more = {}) => ({
    id,
    scheduled_at: '2026-01-02T00:00:00.000Z',
    params: { text: 'hello', with_rate_limit: true },
    media_attachments: [],
    ...more,
  });
  const clientOf = (baseUrl: string) => new StatusesClient({ baseUrl, token: 't0ken', ...patient().options });

  test('sends a Bearer token, JSON and a key, when it makes a status', async () => {
    const { url, got } = await scripted([200, status('7')]);
    await clientOf(`${url}/`).schedule({ status: 'x' }, '2026-01-02T00:00:00Z');
    expect(got).toMatchObject([
      {
        method: 'POST',
        url: '/api/v1/statuses',
        headers: {
          authorization: 'Bearer t0ken',
          'content-type': 'application/json',
          'idempotency-key': expect.stringMatching(/^[\da-f-]{36}$/),
        },
        body: '{"status":"x","scheduled_at":"2026-01-02T00:00:00Z"}',
      },
    ]);
  });
  test('keeps members that it does not know, and fills in those left out, when an answer differs', async () => {
    const { url } = await scripted([200, status('7', { extra: 1, scheduled_at: null })]);
    const answer = await clientOf(url).get('7');
    expect(answer).toMatchObject({
      extra: 1,
      scheduled_at: null,
      params: { with_rate_limit: true, poll: null },
    });
  });
  test('goes on by ids, when a proxy has dropped the Link header', async () => {
    const { url, got } = await scripted([200, [status('2'), status('1')]], [200, []]);
    expect(await collect(clientOf(url).list())).toHaveLength(2);
    expect(got.map((one) => one.url)).toEqual([
      '/api/v1/scheduled_statuses?limit=40',
      '/api/v1/scheduled_statuses?limit=40&max_id=1',
    ]);
  });
  test('takes the cursor alone, when a link names another host, and asks its own', async () => {
    const link = '<https://evil.example/api/v1/scheduled_statuses?max_id=2>; rel="next"';
    const { url, got } = await scripted([200, [status('2')], { Link: link }], [200, []]);
    await collect(clientOf(url).list());
    expect(got).toHaveLength(2);
  });
  test('ends, when the links lead in a circle', async () => {
    const link = (id: string) => ({ Link: `<https://x/?max_id=${id}>; rel="next"` });
    const pages = ['1', '2', '1'].map((id) => [200, [status(id)], link(id)] as const);
    const { url } = await scripted(...pages);
    expect(await collect(clientOf(url).list())).toHaveLength(3);
  });
  test('says so, when a status that should be scheduled is published at once', async () => {
    const answer = {
      id: '9',
      created_at: '2026-01-01T00:00:00Z',
      content: '',
      visibility: 'public',
      url: null,
    };
    const { url } = await scripted([200, answer]);
    const error = await problemOf(clientOf(url).schedule({ status: 'x' }, at(0)));
    expect(error.code).toBe('published_at_once');
    expect(error.message).toContain('published it, as status 9. Schedule more than 5 minutes ahead');
  });
  test.each([new Date(Number.NaN), '', 'soon'])(
    'refuses a time, when it is %p, before anything is sent',
    async (time) => {
      const { url, got } = await scripted([200, status('7')]);
      await expect(clientOf(url).schedule({ status: 'x' }, time)).rejects.toThrow(RangeError);
      await expect(clientOf(url).reschedule('7', time)).rejects.toThrow(RangeError);
      expect(got).toEqual([]);
    },
  );
  test.each(['', '.', '..', '../../x', 'a/b', 'a?b', 'ä'])(
    'refuses an id, when it is "%s", before anything is sent',
    async (id) => {
      const { url, got } = await scripted([200, status('7')]);
      for (const call of [
        clientOf(url).get(id),
        clientOf(url).cancel(id),
        clientOf(url).reschedule(id, at(DAY)),
      ]) {
        expect((await problemOf(call)).code).toBe('not_found');
      }
      expect(got).toEqual([]);
    },
  );
});
