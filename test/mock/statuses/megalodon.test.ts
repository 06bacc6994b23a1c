import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import generator, { type Entity } from 'megalodon';
import { api, at, DAY, useApi } from './support.ts';

// The real client from the npm registry, unchanged, over HTTP.
useApi();
const client = (token = 'alice-rw') => generator('mastodon', api.url, token);

// megalodon drops a date that is not ahead of the machine's own clock, hence the year.
const FAR = 3000 * 365 * DAY;
const schedule = async (text: string) =>
  (await client().postStatus(text, { scheduled_at: at(FAR) })).data as Entity.ScheduledStatus;
const statusOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing went wrong',
    (error) => [error.response.status, error.response.data.error],
  );

test('runs the whole life of a scheduled status, when all is well, from creation to cancellation', async () => {
  const created = await schedule('hello from megalodon');
  expect(created).toMatchObject({ id: '1', scheduled_at: at(FAR), params: { text: 'hello from megalodon' } });
  expect((await client().getScheduledStatuses({ limit: 5 })).data).toEqual([created]);
  expect((await client().getScheduledStatus('1')).data).toEqual(created);
  expect((await client().scheduleStatus('1')).data).toEqual(created);
  expect((await client().scheduleStatus('1', at(DAY))).data).toEqual({ ...created, scheduled_at: at(DAY) });
  expect((await client().cancelScheduledStatus('1')).data).toEqual({});
  expect((await client().getScheduledStatuses()).data).toEqual([]);
});

test('is told what goes wrong, when something does, by status and text', async () => {
  await schedule('hello');
  const past = 'Validation failed: Scheduled at The scheduled date must be in the future';
  for (const [tried, ...expected] of [
    [client('nobody').getScheduledStatuses(), 401, 'The access token is invalid'],
    [client().getScheduledStatus('999'), 404, 'Record not found'],
    [client().cancelScheduledStatus('999'), 404, 'Record not found'],
    [client().scheduleStatus('1', at(0)), 422, past],
  ] as const) {
    expect(await statusOf(tried)).toEqual(expected);
  }
});

test('describes a file, and publishes and deletes a status, when all is well', async () => {
  const file = Object.assign(Readable.from(['not really']), { path: 'a.png' });
  const { id } = (await client().uploadMedia(file)).data;
  const { data } = await client().updateMedia(id, { description: 'a picture', focus: '0,1' });
  expect(data).toMatchObject({ id, description: 'a picture', meta: { focus: { x: 0, y: 1 } } });
  const status = (await client().postStatus('gone soon')).data;
  expect((await client().getStatus(status.id)).data).toMatchObject({ content: '<p>gone soon</p>' });
  expect((await client().deleteStatus(status.id)).status).toBe(200);
  expect(await statusOf(client().getStatus(status.id))).toEqual([404, 'Record not found']);
});
