import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { iso } from '../../src/store/queue/lists/event-json.ts';
import { onEachEngine, onPostgres, type Stage } from '../store/stages.ts';
import { Stepped } from '../store/stepped.ts';
import { type TestDatabase, testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
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
    const { receivedAt = 0, body = '' } =
      (await store.queue.search({ filter: {}, stretch: { limit: 1 } })).events[0] ?? {};
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
    const [{ receivedAt = 0 } = {}] = (await store.queue.search({ filter: {}, stretch: { limit: 1 } }))
      .events;
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

onPostgres('what was received', (stage) => {
  test('is not passed over, when it commits after what came later', async () => {
    const { record, received } = await reading(stage);
    await record('first');
    const { cursor } = await received('start');
    const slow = await Stepped.start(stage, 'slow-reader');
    const go = await slow.upTo(/COMMIT$/, (store) => store.queue.record(verified({ media_id: 'late' })));
    await record('quick');
    expect(await received(cursor)).toMatchObject({ media: [], cursor });
    await go();
    expect((await received(cursor)).media).toEqual(['late', 'quick']);
  });
});

describe('counted:', () => {
  const inspect = inspectedForEachTest();
  let directory: string;
  let database: TestDatabase;
  beforeAll(async () => {
    directory = await temporaryDirectory();
    database = await testDatabase(directory);
  });
  afterAll(async () => {
    await database.remove();
  });

  /** What a process says of all. */
  async function told({ api }: Inspected) {
    const { last_10_minutes: recent, figures, last_day: day } = await api('/stats');
    const { accepted, duplicate, rejected } = recent;
    const kinds = day.map((of: Record<string, unknown>) => [of.kind, of.accepted, of.duplicate]);
    return { recent: { accepted, duplicate, rejected }, hour: figures.accepted, kinds };
  }

  const minute = Date.now() - (Date.now() % 60_000);
  const clock = new VirtualClock(minute + 1000);

  /** Lets time pass until something is done. */
  async function passing(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      void clock.advance(1); // what a timer begins may wait for another one
      await new Promise((resolve) => setImmediate(resolve));
    }
    await done;
  }

  test('statistics are of all processes, survive a restart, and a kill takes what was counted in ten seconds at most', async () => {
    const start = () => inspect({}, { ...database.env }, { clock });
    const first = await start();
    await passing(first.deliver(notification({ media_id: 'one' })));
    await passing(first.deliver(notification({ media_id: 'one' })));
    await fetch(`http://127.0.0.1:${first.service.port}/webhooks/media`, { method: 'POST' });
    expect((await told(first)).kinds).toEqual([['media_available', 1, 1]]); // before they are stored
    await passing(clock.advance(10_000));

    const second = await start();
    await eventually('they are stored', async () => (await told(second)).recent.accepted === 1);
    await passing(first.deliver(notification({ media_id: 'two' }))); // a kill of the first process may lose the count of this
    await passing(second.deliver(notification({ event: 'made_up' })));
    const { accepted, ...others } = (await told(second)).recent;
    expect(accepted).toBeGreaterThanOrEqual(2);
    expect(others).toEqual({ duplicate: 1, rejected: 1 });
    expect((await second.api('/events')).events).toHaveLength(3);

    await passing(first.service.stop());
    await passing(second.service.stop());
    await passing(clock.advance(60_000));
    const third = await start();
    expect(await told(third)).toEqual({
      recent: { accepted: 3, duplicate: 1, rejected: 1 },
      hour: 3,
      kinds: [
        ['media_available', 2, 1],
        ['unknown', 1, 0],
      ],
    });
    const { times, backlog, ...rates } = await third.api('/series'); // from the first minute with data on
    expect([times[0] * 1000, times[1] - times[0], rates.received[0] > 0]).toEqual([minute, 60, true]);
    expect(backlog[0]).not.toBeNull();
    await passing(third.service.stop());
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
