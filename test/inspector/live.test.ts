import { expect, test } from '@jest/globals';
import { iso } from '../../src/store/queue/lists/event-json.ts';
import { onEachEngine, type Stage } from '../store/stages.ts';
import { notification } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { verified } from '../support/verified-notification.ts';

const start = inspectedForEachTest();

/** A service on the database of a stage, and what its `/api/received` answers. */
async function reading({ url, isPostgres }: Stage) {
  const key = isPostgres && { SECRETS_KEY: SECRETS_KEY.toString('base64') };
  const inspected = await start({}, { DATABASE_URL: url, ...key });
  const { store } = inspected.service;
  const record = async (media_id: string, members = {}) =>
    (await store.queue.record(verified({ media_id, ...members }))).id;
  const received = async (after: string, query = '') => {
    const answer = await inspected.raw(`/api/received?after=${encodeURIComponent(after)}${query}`);
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': /ndjson/ } });
    const lines = answer.body.split('\n').slice(0, -1);
    const list = lines.map((line) => JSON.parse(line) as { body: string; cursor: string });
    const media = list.map(({ body }) => JSON.parse(body).media_id as string);
    return { list, media, cursor: String(answer.headers['x-cursor']), behind: answer.headers['x-behind'] };
  };
  return { ...inspected, store, record, received };
}

onEachEngine('what was received', (stage) => {
  test('comes oldest first, as recordings with their cursors, a page after the other, also where a filter leaves little', async () => {
    const { record, received, store } = await reading(stage);
    expect(await received('start')).toMatchObject({ media: [], behind: '0' });
    for (const id of ['a', 'b', 'c', 'd', 'e'])
      await record(id, { event: id === 'd' ? 'media_updated' : 'media_available' });
    const all = await received('start');
    expect(all.media).toEqual(['a', 'b', 'c', 'd', 'e']);
    const { receivedAt = 0, body = '' } = (await store.queue.search({ limit: 1 })).events[0] ?? {};
    const line = { v: 1, body, received_at: iso(receivedAt), webhook_id: 'webhook-1', cursor: all.cursor };
    expect(all.list.at(-1)).toEqual(line);
    expect((await received(all.list[1]?.cursor ?? '')).media).toEqual(['c', 'd', 'e']);
    const first = await received('start', '&limit=3');
    expect(first).toMatchObject({ media: ['a', 'b', 'c'], behind: '2' });
    expect((await received(first.cursor, '&limit=3')).media).toEqual(['d', 'e']);
    const few = await received('start', '&limit=3&kind=media_updated');
    expect(few).toMatchObject({ media: [], cursor: first.cursor });
    expect((await received(few.cursor, '&kind=media_updated')).media).toEqual(['d']);
  });

  test('is waited for, by several at once, and begins now or with what was received since a time', async () => {
    const { record, received, store, raw } = await reading(stage);
    await record('old');
    const [{ receivedAt = 0 } = {}] = (await store.queue.search({ limit: 1 })).events;
    const wait = '&wait=20&kind=media_created';
    const { cursor } = await received('now');
    const waiting = Array.from({ length: 3 }, () => received(cursor, wait));
    await record('other');
    await record('new', { event: 'media_created' });
    for (const { media } of await Promise.all(waiting)) expect(media).toEqual(['new']);
    expect((await received(iso(receivedAt))).media).toEqual(['old', 'other', 'new']);
    expect((await received(iso(Date.now() + 60_000))).media).toEqual([]);
    expect((await received('2h')).media).toEqual(['old', 'other', 'new']);
    const wrong = ['', 'after=never', 'after=now&limit=501', 'after=now&wait=61', 'after=now&since=never'];
    for (const query of wrong) expect((await raw(`/api/received?${query}`)).status).toBe(400);
    for (const query of ['', 'after=never'])
      expect((await raw(`/api/received?${query}`)).body).toContain(
        'after: must be a cursor, start, now, or a time',
      );
  });

  test('is not read on after a cursor of another database, with 410, which says where to go on', async () => {
    const { record, received, raw } = await reading(stage);
    await record('a');
    const { cursor } = await received('start');
    const [seq = '', at = ''] = cursor.split('-');
    await record('b');
    const earlier = (Number.parseInt(at, 36) - 5000).toString(36);
    for (const foreign of [`${seq}-${earlier}`, `zzz-${earlier}`]) {
      const { status, body } = await raw(`/api/received?after=${foreign}`);
      expect(status).toBe(410);
      const [, time = ''] = /after=(\S+) goes on/.exec(JSON.parse(body).error) ?? [];
      expect((await received(time)).media).toEqual(['a', 'b']);
    }
  });
});

test('the stream tells that something changed and what there is, when this or another process records, handles or refuses', async () => {
  const inspected = await start({ media_available() {} });
  const answer = await fetch(`${inspected.url}/api/stream`);
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  /** What comes, up to a message. */
  const message = async () => {
    for (let text = ''; ; ) {
      text += (await reader?.read())?.value ?? '';
      if (text.endsWith('\n\n') && text.includes('event: changes')) return text;
    }
  };
  await inspected.raw('/api/events'); // the first look is over by then
  await inspected.deliver(notification());
  expect(await message()).toMatch(/\{"pending":\d,"running":\d,"dead":0,"quarantined":0\}\n\n$/);
  await inspected.settled();
  const other = await start({}, inspected.env);
  await other.service.store.queue.record(verified({ media_id: 'elsewhere', webhook_id: 'another' }));
  await message();
  await inspected.deliver(notification({ media_id: 'forged' }), 'another-secret');
  await message();
  await reader?.cancel();
});

test('the service stops at once, when a client still listens to the stream', async () => {
  const inspected = await start();
  const answer = await fetch(`${inspected.url}/api/stream`);
  await inspected.service.stop();
  await expect(answer.text()).rejects.toThrow();
});
