import { expect, test } from '@jest/globals';
import { claimOne, DEAD, SKIPPED, settleAll } from '../../support/claiming.ts';
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

test('shows a table, when nothing else is asked for, with the last error of each', async () => {
  const store = await desk().store();
  await store.record(verified({ media_id: 'broken', at: Date.UTC(2026, 10, 19, 12) }));
  await settleAll(store, { ...DEAD, error: 'the page\u001b[31m is down\nand more' });
  const { code, stdout } = await desk().events(['list', '--status', 'dead']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^id +event time +received +kind +resource +status +attempts +last error\n/);
  expect(stdout).toMatch(
    / 2026-11-19T12:00:00Z .* media_available +media:broken +dead +1 +the page\\u001b\[31m is down\n$/,
  );
});

test.each([
  [['--kind', 'channels'], ['channel:live']],
  [
    ['--kind', 'media_available', '--kind', 'channel_idle'],
    ['channel:live', 'media:first'],
  ],
  [['--kind', 'unknown:media_renamed'], ['media:renamed']],
  [['--kind', 'unknown:'], ['media:nameless']],
  [['--status', 'pending', '--site', 'site-2'], ['media:other']],
  [['--resource', 'media:first'], ['media:first']],
  [['--webhook', 'webhook-2'], ['media:other']],
  [['--since', '2026-11-19', '--until', '2026-11-19T12:00'], ['media:other']],
  [['--since', '2026-11-19T13:00:00+01:00', '--until', '2026-11-20'], ['channel:live']],
  [['--q', '"title":"50%'], ['media:other']],
])('shows only those, when filtered by %j', async (filter, expected) => {
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
  await store.record(verified({ media_id: 'renamed', event: 'media_renamed', at: noon - 86_400_000 }));
  const event_time = new Date(noon).toISOString();
  await store.record(verifiedBody({ event: 'channel_idle', channel_id: 'live', event_time }));
  await store.record(verifiedBody({ media_id: 'nameless' }));
  const { stdout } = await desk().events(['list', '--json', ...filter]);
  expect(ndjson(stdout).map(({ resource }) => resource)).toEqual(expected);
});

test('shows which process runs an event, since when, and how long its lease lasts, while one does', async () => {
  const store = await desk().store();
  const { id } = await store.record(verified());
  const shown = async () => JSON.parse((await desk().events(['show', id, '--json'])).stdout).running;
  expect(await shown()).toBeNull();
  await claimOne(store, { owner: 'receiver-1' });
  const running = await shown();
  expect(running).toMatchObject({ instance: 'receiver-1' });
  const { stdout } = await desk().events(['show', id]);
  expect(stdout).toMatch(/^no attempts$/m);
  expect(stdout).toContain(
    `running since ${running.started_at} on receiver-1; its lease lasts until ${running.lease_until}\n`,
  );
});

test('shows one event, when its id is given, with its attempts and its payload', async () => {
  const store = await desk().store();
  const { id } = await store.record(verified());
  const owner = 'receiver-1';
  const claim = await claimOne(store, { owner });
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
});

test('says so, when there is no such event, and ends with 1', async () => {
  await desk().fill(1);
  const { code, stderr } = await desk().events(['show', 'loyw3uqg-0123456789abcdef0123']);
  expect(code).toBe(1);
  expect(stderr).toBe('hookkit: there is no event loyw3uqg-0123456789abcdef0123 in this database\n');
});
