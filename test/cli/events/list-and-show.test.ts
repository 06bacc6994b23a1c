import { expect, test } from '@jest/globals';
import { claimOne, SKIPPED } from '../../support/claiming.ts';
import { deskForEachTest, ndjson } from '../../support/event-desk.ts';
import { verified, verifiedBody } from '../../support/verified-notification.ts';

const desk = deskForEachTest();

test('shows the newest first and how to go on, when there are more than the limit, page by page', async () => {
  await desk().fill(5);
  const first = await desk().events(['list', '--limit', '2', '--json']);
  expect(ndjson(first.stdout).map(({ resource }) => resource)).toEqual(['media:media004', 'media:media003']);
  const [, before = ''] = /^there are more: --before (\S+)\n$/.exec(first.stderr) ?? [];
  const second = await desk().events(['list', '--limit', '3', '--json', '--before', before]);
  expect(ndjson(second.stdout).map(({ resource }) => resource)).toEqual([
    'media:media002',
    'media:media001',
    'media:media000',
  ]);
  expect(second).toMatchObject({ code: 0, stderr: '' });
});

test.each([
  ['--kind channels --kind unknown:', ['media:nameless', 'channel:live']],
  [
    '--status pending --site site-2 --q "title":"50% --since 2026-11-19T12:59:00+01:00 --until 2026-11-20',
    ['media:other'],
  ],
])('shows only those, when filtered by %s', async (filter, expected) => {
  const store = await desk().store();
  const noon = Date.UTC(2026, 10, 19, 12);
  await store.record(verified({ media_id: 'first', at: noon - 86_400_000 }));
  await store.record(
    verified({
      media_id: 'other',
      event: 'media_deleted',
      site_id: 'site-2',
      webhook_id: 'webhook-2',
      title: '50%',
      at: noon - 1,
    }),
  );
  const event_time = new Date(noon).toISOString();
  await store.record(verifiedBody({ event: 'channel_idle', channel_id: 'live', event_time }));
  await store.record(verifiedBody({ media_id: 'nameless' }));
  const { stdout } = await desk().events(['list', '--json', ...filter.split(' ')]);
  expect(ndjson(stdout).map(({ resource }) => resource)).toEqual(expected);
});

test('shows one event, when its id is given, with what runs it, its attempts and its payload, and ends with 1 where there is none', async () => {
  const store = await desk().store();
  const { id } = await store.record(verified());
  const owner = 'receiver-1';
  const claim = await claimOne(store, { owner });
  expect((await desk().events(['show', id])).stdout).toMatch(/^running +\{.*"instance":"receiver-1"\}$/m);
  await store.settle(claim, SKIPPED);
  const { stdout } = await desk().events(['show', id]);
  expect(stdout).toMatch(/^status +skipped$/m);
  expect(stdout).toMatch(/^ {4}"media_id": "media-1",$/m);
  expect(stdout).toMatch(/^first +1 +\S+ +\d+ ms +skipped +receiver-1 +not for us$/m);
  const json = await desk().events(['show', id, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    id,
    status: 'skipped',
    body: verified().body,
    last_error: 'not for us',
    history: [{ replay: 0, attempt: 1, outcome: 'skipped', instance: 'receiver-1' }],
  });
  const none = await desk().events(['show', 'loyw3uqg-0123456789abcdef0123']);
  expect(none).toMatchObject({ code: 1, stdout: '' });
});
