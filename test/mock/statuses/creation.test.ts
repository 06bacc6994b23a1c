import { describe, expect, test } from '@jest/globals';
import { api, at, DAY, HOUR, type Json, LIST, STATUSES, useApi } from './support.ts';

useApi();

const scheduled = (json: object) => api.post({ status: 'hello', scheduled_at: at(DAY), ...json });
const poll = { options: ['a', 'b'], expires_in: 3600 };
const INVALID = 'Validation failed:';

describe('a new status', () => {
  test.each([
    [{ in_reply_to_id: '100000000001' }, '404 The post you are trying to reply to does not appear to exist.'],
    [{ scheduled_at: at(0) }, `422 ${INVALID} Scheduled at The scheduled date must be in the future`],
    [{ status: undefined }, `422 ${INVALID} Text can't be blank`],
    [{ status: ' ', spoiler_text: 'careful' }, `422 ${INVALID} Text can't be blank`],
    [{ media_ids: ['999', 'abc'] }, '422 Media 999, abc not found or already attached to another post'],
    [{ poll: { ...poll, options: ['a', ' '] } }, `422 ${INVALID} Choices must have more than one item`],
    [{ poll: { ...poll, expires_in: 2_629_747 } }, `422 ${INVALID} Deadline is too far into the future`],
  ])('with %.80j is refused: %s', async (json, expected) => {
    const { status, body } = await scheduled(json);
    expect(`${status} ${body.error}`).toBe(expected);
    expect((await api.get(LIST)).body).toEqual([]);
  });

  test.each<object>([
    { status: '👩‍👩‍👧‍👦'.repeat(490), spoiler_text: '0123456789' },
    { poll: { ...poll, options: ['a', '🎬'.repeat(50), 'c', 'd'], expires_in: 300 } },
    { media_ids: '1' },
  ])('with %.60j is taken', async (json) => {
    expect((await scheduled(json)).status).toBe(200);
  });

  test.each([undefined, null, ''])('is published at once, when scheduled_at is %j', async (scheduled_at) => {
    const { status, body } = await scheduled({ scheduled_at, status: 'a & <b>\nc\n\nd' });
    const content = '<p>a &#38; &#60;b&#62;<br />c</p><p>d</p>';
    expect([status, body]).toMatchObject([200, { content, created_at: at(0), visibility: 'public' }]);
    expect((await api.get(`${STATUSES}/${body.id}`)).body).toEqual(body);
    const reply: Json = (
      await api.post({ status: 'reply', in_reply_to_id: body.id, spoiler_text: 'careful' })
    ).body;
    expect(reply).toMatchObject({
      in_reply_to_id: body.id,
      in_reply_to_account_id: '1',
      sensitive: true,
      spoiler_text: 'careful',
      account: { id: '1', username: 'alice', acct: 'alice' },
      application: { name: 'hookkit mock', website: null },
      url: `${api.url}/@alice/${reply.id}`,
    });
  });
});

describe('a file', () => {
  test('belongs to one status, scheduled or published, until that is cancelled or deleted', async () => {
    const [a, b] = [await api.upload(), await api.upload()];
    expect((await scheduled({ media_ids: [a], scheduled_at: at(0) })).status).toBe(422);
    const first = (await scheduled({ status: '', media_ids: [b, Number(a)] })).body;
    expect(first).toMatchObject({
      params: { media_ids: [b, Number(a)] },
      media_attachments: [{ id: b }, { id: a }],
    });
    const error = `Media ${a} not found or already attached to another post`;
    const refused = { status: 422, body: { error } };
    expect(await scheduled({ media_ids: [a] })).toMatchObject(refused);
    await api.request('DELETE', `${LIST}/${first.id}`);
    const { id } = (await api.post({ media_ids: [a] })).body;
    expect(await scheduled({ media_ids: [a] })).toMatchObject(refused);
    expect((await api.get(`/api/v1/media/${a}`)).status).toBe(404);
    await api.request('DELETE', `${STATUSES}/${id}`);
    expect((await scheduled({ media_ids: [a] })).status).toBe(200);
    const ofBob = await api.upload('image/png', 'bob-rw');
    expect((await scheduled({ media_ids: [ofBob] })).status).toBe(422);
    const mixed = await scheduled({ media_ids: [b, await api.upload('video/mp4')] });
    expect(mixed.body.error).toBe('Cannot attach a video to a post that already contains images');
  });
});

describe('an Idempotency-Key', () => {
  const post = (key: string, json: object = {}, token = 'alice-rw') =>
    api.post(
      { status: 'hello', scheduled_at: at(DAY), ...json },
      { token, headers: { 'Idempotency-Key': key } },
    );

  test('gets what it made first, as it is now, for an hour, and 404 once that is gone', async () => {
    const media_ids = [await api.upload()];
    const first = (await post('key', { media_ids })).body;
    expect((await post('key', { media_ids, status: 'other' })).body).toEqual(first);
    await api.request('PUT', `${LIST}/${first.id}`, { json: { scheduled_at: at(2 * DAY) } });
    await api.clock.advance(HOUR - 1);
    expect((await post('key')).body).toMatchObject({ id: first.id, scheduled_at: at(2 * DAY) });
    await api.request('DELETE', `${LIST}/${first.id}`);
    expect(await post('key')).toMatchObject({ status: 404, body: { error: 'Record not found' } });
    await api.clock.advance(1);
    expect((await post('key')).body.id).toBe('2');
    const published = (await post('at once', { scheduled_at: null })).body;
    expect((await post('at once')).body).toEqual(published);
  });

  test('makes another, when it or the user is another, it is empty, or its first use was refused', async () => {
    expect((await post('key', { status: '' })).status).toBe(422);
    for (const [key, token] of [['key'], ['other'], [''], [''], ['key', 'bob-rw']] as const)
      await post(key, {}, token);
    expect((await api.get(LIST)).body).toHaveLength(4);
    expect((await api.get(LIST, { token: 'bob-rw' })).body).toHaveLength(1);
  });
});
