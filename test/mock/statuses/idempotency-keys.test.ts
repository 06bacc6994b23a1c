import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Api, at, DAY, LIST, MEDIA, MINUTE, picture, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const HOUR = 60 * MINUTE;
const post = (key: string, json: object = {}, token = 'alice-rw') =>
  api.request('POST', STATUSES, {
    token,
    json: { status: 'hello', scheduled_at: at(DAY), ...json },
    headers: { 'Idempotency-Key': key },
  });
const scheduledIds = async () => (await api.get(LIST)).body.map(({ id }: { id: string }) => id);

test('answers the first scheduled status again, when a key repeats within the hour', async () => {
  const first = await post('key');
  await api.clock.advance(HOUR - 1);
  const second = await post('key', { status: 'something else' });
  expect([second.status, second.body]).toEqual([200, first.body]);
  expect(await scheduledIds()).toEqual([first.body.id]);
});
test('answers the first scheduled status again, when it was changed since, as it is now', async () => {
  const { id } = (await post('key')).body;
  await api.request('PUT', `${LIST}/${id}`, { json: { scheduled_at: at(2 * DAY) } });
  expect((await post('key')).body).toMatchObject({ id, scheduled_at: at(2 * DAY) });
});
test('answers the first status again, when it was published at once', async () => {
  const first = await post('key', { scheduled_at: null });
  expect((await post('key', { scheduled_at: null })).body).toEqual(first.body);
});
test('attaches files once, when a request with files repeats', async () => {
  const { id } = (await api.request('POST', MEDIA, { body: picture() })).body;
  const first = await post('key', { media_ids: [id] });
  expect((await post('key', { media_ids: [id] })).body).toEqual(first.body);
});
test('makes another, when the hour is over', async () => {
  const first = await post('key');
  await api.clock.advance(HOUR);
  expect((await post('key')).body.id).not.toBe(first.body.id);
});
test('makes another, when the key or the user is another, or the key is empty', async () => {
  await post('key');
  await post('other');
  await post('');
  await post('');
  expect(await scheduledIds()).toHaveLength(4);
  expect((await post('key', {}, 'bob-rw')).body.id).toBe('5');
});
test('remembers nothing, when the first attempt was refused', async () => {
  expect((await post('key', { status: '' })).status).toBe(422);
  expect((await post('key')).status).toBe(200);
});
test('answers 404, when what the key made is cancelled or out, and makes no second one', async () => {
  const { id } = (await post('key')).body;
  await api.request('DELETE', `${LIST}/${id}`);
  const repeat = await post('key');
  expect([repeat.status, repeat.body]).toEqual([404, { error: 'Record not found' }]);
  expect(await scheduledIds()).toEqual([]);
});
