import { afterEach, beforeEach, expect, test } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import type { Clock } from '../../../src/base/clock.ts';
import { Random } from '../../../src/mock/random.ts';
import { createStatusesApi, defaultTokens } from '../../../src/mock/statuses/index.ts';
import {
  type Api,
  at,
  DAY,
  type Json,
  LIST,
  MEDIA,
  MINUTE,
  NOW,
  picture,
  STATUSES,
  startApi,
} from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const HOUR = 60 * MINUTE;
const PUBLISHED = '/api/v1/accounts/1/statuses';
/** What alice has published, in order of publication. */
const published = async (): Promise<Json[]> => (await api.get(PUBLISHED)).body.toReversed();

test('destroys the record and publishes, when its time has come, under another id', async () => {
  const { id: picturesId } = (await api.request('POST', MEDIA, { body: picture() })).body;
  const id = await api.schedule(HOUR, {
    status: 'on time',
    visibility: 'unlisted',
    sensitive: true,
    media_ids: [picturesId],
  });
  await api.clock.advance(HOUR - 1);
  expect((await api.get(`${LIST}/${id}`)).status).toBe(200);
  expect(await published()).toEqual([]);
  await api.clock.advance(1);
  const { status, body } = await api.get(`${LIST}/${id}`);
  expect([status, body]).toEqual([404, { error: 'Record not found' }]);
  expect((await api.get(LIST)).body).toEqual([]);
  const statuses = await published();
  expect(statuses).toEqual([
    expect.objectContaining({
      content: '<p>on time</p>',
      created_at: at(HOUR),
      visibility: 'unlisted',
      sensitive: true,
      media_attachments: [expect.objectContaining({ id: picturesId })],
    }),
  ]);
  expect(statuses[0].id).not.toBe(id);
  expect((await api.get(`${STATUSES}/${statuses[0].id}`)).body).toEqual(statuses[0]);
});

test('answers a change or cancellation, when the status is already out, with 404', async () => {
  const id = await api.schedule(HOUR);
  await api.clock.advance(HOUR);
  expect((await api.request('PUT', `${LIST}/${id}`, { json: { scheduled_at: at(DAY) } })).status).toBe(404);
  expect((await api.request('DELETE', `${LIST}/${id}`)).status).toBe(404);
});

test('publishes by due time, when several are due, and by id where that is the same', async () => {
  for (const [text, ms] of [
    ['c', 3 * HOUR],
    ['a', HOUR],
    ['d', 3 * HOUR],
    ['b', 2 * HOUR],
  ] as const) {
    await api.schedule(ms, { status: text });
  }
  await api.clock.advance(DAY);
  expect((await published()).map(({ content }) => content)).toEqual([
    '<p>a</p>',
    '<p>b</p>',
    '<p>c</p>',
    '<p>d</p>',
  ]);
});

test('publishes by due time all the same, when the clock is late and several are due at once', async () => {
  let now = NOW;
  let fire: () => unknown = () => undefined;
  const clock: Clock = {
    now: () => now,
    after(_, fn) {
      fire = fn;
      return () => undefined;
    },
  };
  const { router } = createStatusesApi({
    clock,
    random: new Random(1),
    requests: new Random(2),
    baseUrl: () => 'http://mock',
  });
  const client = supertest(express().use(router));
  for (const [status, ms] of [
    ['b', 2 * HOUR],
    ['a', HOUR],
    ['c', 3 * HOUR],
  ] as const) {
    await client
      .post(STATUSES)
      .auth('alice-rw', { type: 'bearer' })
      .send({ status, scheduled_at: at(ms) });
  }
  fire(); // early, as a real clock does where the time is far off
  expect((await client.get(PUBLISHED)).body).toEqual([]);
  now += 2 * HOUR;
  fire();
  const { body } = await client.get(PUBLISHED);
  expect(body.map(({ content }: Json) => content)).toEqual(['<p>b</p>', '<p>a</p>']);
});

test('follows a change, when it is moved forth and back, and publishes once', async () => {
  const id = await api.schedule(HOUR, { status: 'moved' });
  const move = (ms: number) => api.request('PUT', `${LIST}/${id}`, { json: { scheduled_at: at(ms) } });
  await move(DAY);
  await api.clock.advance(2 * HOUR);
  expect((await api.get(`${LIST}/${id}`)).status).toBe(200);
  await move(3 * HOUR);
  await api.clock.advance(HOUR);
  expect((await published()).map(({ created_at }) => created_at)).toEqual([at(3 * HOUR)]);
  expect(api.clock.nextDue()).toBeUndefined();
});

test('opens a poll, when the status goes out, for as long as was asked for', async () => {
  await api.schedule(HOUR, { poll: { options: ['a', 'b'], expires_in: '3600', hide_totals: true } });
  await api.clock.advance(HOUR);
  const [{ poll, id }] = (await published()) as [Json];
  expect(poll).toMatchObject({
    expires_at: at(2 * HOUR),
    expired: false,
    multiple: false,
    options: [
      { title: 'a', votes_count: null },
      { title: 'b', votes_count: null },
    ],
  });
  await api.clock.advance(HOUR);
  expect((await api.get(`${STATUSES}/${id}`)).body.poll).toMatchObject({
    expired: true,
    options: [
      { title: 'a', votes_count: 0 },
      { title: 'b', votes_count: 0 },
    ],
  });
});

test('counts a place as free, when a status is out, for another on that day', async () => {
  for (let n = 0; n < 25; n++) await api.schedule(HOUR);
  await api.clock.advance(HOUR);
  await expect(api.schedule(2 * HOUR)).resolves.toEqual(expect.any(String));
});

test('tells who is who, when a client asks before it starts, of server and account', async () => {
  const instance = await api.get('/api/v1/instance', { token: '' });
  expect(instance.body).toMatchObject({ version: '3.3.0', uri: new URL(api.url).host });
  const account = await api.get('/api/v1/accounts/verify_credentials');
  expect(account.body).toMatchObject({ username: defaultTokens[0]?.account?.username });
});

test('lists the published statuses of a user, when others ask, as far as they may see them', async () => {
  for (const visibility of ['public', 'private', 'unlisted', 'direct']) {
    await api.request('POST', STATUSES, { json: { status: visibility, visibility } });
  }
  const seen = async (token: string, query = '') =>
    (await api.get(PUBLISHED + query, { token })).body.map((status: Json) => status.visibility);
  expect(await seen('alice-read')).toEqual(['direct', 'unlisted', 'private', 'public']);
  expect(await seen('bob-rw')).toEqual(['unlisted', 'public']);
  expect(await seen('')).toEqual(['unlisted', 'public']);
  expect(await seen('alice-read', '?limit=1&min_id=100000000001')).toEqual(['private']);
  const { headers } = await api.get(`${PUBLISHED}?limit=1`);
  expect(headers.get('link')).toContain(`<${api.url}${PUBLISHED}?limit=1&max_id=100000000004>; rel="next"`);
  expect((await api.get('/api/v1/accounts/9/statuses')).body).toEqual({ error: 'Record not found' });
  expect((await api.get(PUBLISHED, { token: 'alice-write' })).status).toBe(403);
});
