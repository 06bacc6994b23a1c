import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { claimOne, doSteps, HANDLED, SKIPPED, settleAll } from '../../support/claiming.ts';
import { deskForEachTest, type EventDesk, ndjson, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { tokenOf } from '../../support/hs256.ts';
import { startReceiver } from '../../support/receiver.ts';
import { recordedLine } from '../../support/recorded-lines.ts';
import { callCli, startCli } from '../../support/run-cli.ts';
import { verified } from '../../support/verified-notification.ts';

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

test('shows one event, when its id is given, with what runs it, its steps, its attempts and its payload, and ends with 1 where there is none', async () => {
  const store = await desk().store();
  const { id } = await store.queue.record(verified());
  const owner = 'receiver-1';
  const claim = await claimOne(store, { owner });
  expect((await desk().events(['show', id])).stdout).toMatch(/^running +\{.*"instance":"receiver-1"\}$/m);
  await store.queue.saveStep({ ...claim, name: 'publish', result: '{"page":1}' });
  await store.queue.settle(claim, SKIPPED);
  const { stdout } = await desk().events(['show', id]);
  expect(stdout).toMatch(/^status +skipped$.*^late +false$/ms);
  expect(stdout).toMatch(/^steps +\[\{"name":"publish","result":\{"page":1\}\}\]$/m);
  expect(stdout).toMatch(/^ {4}"media_id": "media-1",$/m);
  expect(stdout).toMatch(/^first +1 +\S+ +\d+ ms +skipped +receiver-1 +not for us$/m);
  const json = await desk().events(['show', id, '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    id,
    status: 'skipped',
    body: verified().body,
    last_error: 'not for us',
    late: false,
    steps: [{ name: 'publish', result: { page: 1 } }],
    history: [{ replay: 0, attempt: 1, outcome: 'skipped', instance: 'receiver-1' }],
  });
  const none = await desk().events(['show', 'loyw3uqg-0123456789abcdef0123']);
  expect(none).toMatchObject({ code: 1, stdout: '' });
});

test('lists need no key, and change nothing', async () => {
  await desk().fill(2);
  const env = { SECRETS_KEY: Buffer.alloc(32, 1).toString('base64') };
  const run = (args: string) =>
    callCli(args.split(' '), { env: { ...desk().env, ...env }, cwd: desk().directory });
  expect((await run('events list')).stdout).toContain('media:media001');
  expect((await run('events replay --all --dry-run')).stdout).toContain('2 events would be replayed');
  expect(ndjson((await run('events export')).stdout)).toHaveLength(2);
  expect(await run('quarantine list')).toMatchObject({ code: 0, stdout: 'nothing is in quarantine\n' });
  expect((await run('state show media:media001')).code).toBe(0);
  expect((await run('quarantine drop --all')).stderr).toContain('do not open with this key');
});

describe('export', () => {
  function drafts({ directory }: EventDesk): string[] {
    return readdirSync(directory).filter((name) => name.endsWith('.draft'));
  }

  /** Bodies so large that a busy machine sees the export at work. */
  const ENLARGE = {
    sqlite: `UPDATE events SET body = json_set(body, '$.x', hex(zeroblob(20000)))`,
    postgres: `UPDATE hookkit.events SET body = jsonb_set(body::jsonb, '{x}', to_jsonb(repeat('0', 40000)))::text`,
  };

  test('says how far it got and leaves nothing, when Ctrl-C is pressed, and ends with 1', async () => {
    await desk().fill(3000);
    await desk().database.execute(ENLARGE);
    const file = desk().write('r.ndjson', '{"body":"old"}\n');
    const { directory: cwd, env } = desk();
    const run = startCli(['events', 'export', '--out', file], { env, cwd });
    await eventually('the draft is there', () => drafts(desk()).length > 0);
    run.kill('SIGINT');
    const { code, stderr } = await run.ended;
    expect(code).toBe(1);
    expect(stderr).toBe('hookkit: interrupted: the recording is not complete\n');
    expect(readFileSync(file, 'utf8')).toBe('{"body":"old"}\n');
    expect(drafts(desk())).toEqual([]);
  });
});

test('removes what ended long enough ago and the filter means, in steps, and nothing when run dry', async () => {
  await desk().fill(450, 3);
  const prune = async (...args: string[]) => (await desk().events(['prune', ...args])).stdout;
  expect(await prune('--older-than', '1h')).toBe('0 events pruned\n');
  const filter = ['--older-than', '1ms', '--resource', 'media:media001'];
  expect(await prune(...filter, '--dry-run')).toBe('150 events would be pruned\n');
  expect(await prune(...filter)).toBe('150 events pruned\n');
  expect((await desk().events(['export'])).stderr).toBe('left out, as pruned: 150 events\n');
  expect(JSON.parse(await prune('--older-than', '1ms', '--json'))).toEqual({ pruned: 300, dry_run: false });
});

test('nothing to replay is an error, unless that is allowed', async () => {
  await desk().fill(1);
  const replay = async (...more: string[]) =>
    (await desk().events(['replay', '--status', 'dead', ...more])).code;
  expect([await replay(), await replay('--dry-run', '--allow-empty')]).toEqual([1, 0]);
});

test('forgets what ctx.once has done, when told to reset steps, and keeps it otherwise', async () => {
  await desk().fill(1);
  const store = await desk().store();
  const [{ id = '' } = {}] = await eventsIn(store, {}, 1);
  await store.queue.replay({});
  await doSteps(store, id, { announce: '1' }, HANDLED);
  await desk().events(['replay', '--all']);
  expect(await store.queue.steps({ id })).toHaveLength(1);
  await settleAll(store, HANDLED);
  await desk().events(['replay', '--all', '--reset-steps']);
  expect(await store.queue.steps({ id })).toEqual([]);
});

describe('over HTTP', () => {
  test('send sends exactly the file under the secret of its webhook, and signs for the one whose secret is the newest, when none is named', async () => {
    const store = await desk().store();
    await store.secrets.add('first001', SECRET);
    await store.secrets.add('second01', 'the-secret-of-the-second-webhook');
    const { url, received } = await startReceiver();
    const text = '{ "event": "media_renamed",\n  "webhook_id": "first001" }';
    const file = desk().write('body.json', text);
    for (const one of [
      ['--body', file],
      ['--kind', 'media_created', '--media', 'm'],
    ])
      expect(await desk().events(['send', ...one, '--to', url])).toMatchObject({ code: 0 });
    expect(received).toMatchObject([
      { text, token: tokenOf(text, SECRET) },
      { body: { webhook_id: 'second01' } },
    ]);
    expect(received[1]?.token).toBe(tokenOf(received[1]?.text ?? '', 'the-secret-of-the-second-webhook'));
  });

  test.each([
    [200, 'although it is forged'],
    [404, 'correct the path of --to'],
    [500, 'has not refused'],
  ])('send fails, when a broken notification is answered %i, which is no refusal', async (status, why) => {
    const { url } = await startReceiver(() => ({ status }));
    const one = ['--kind', 'media_created', '--media', 'm', '--fault', 'forged', '--to', url];
    const run = await desk().events(['send', ...one], { env: { WEBHOOK_SECRET: SECRET } });
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  });

  test('tells broken lines with their numbers, when stdin has some, sends the rest as new with its gaps and ends with 1', async () => {
    const { url, received, media } = await startReceiver();
    const lines = [recordedLine(0), 'garbage', '{"v":2}', '', recordedLine(4), recordedLine(5).slice(0, 50)];
    const args = ['replay', '--to', url, '--from', '-', '--as-new'];
    const run = await desk().events(args, { stdin: lines.join('\n'), env: { WEBHOOK_SECRET: SECRET } });
    expect(run.code).toBe(1);
    expect(run.stderr.match(/^line \d/gm)).toEqual(['line 2', 'line 3', 'line 6']);
    expect(run.stdout).toMatch(/^broken line +3$/m);
    expect(run.stdout).toMatch(/^accepted +2$/m);
    expect(media()).toEqual(['media000', 'media004']);
    const [first = 0, last = 0] = received.map(({ body }) => Date.parse(String(body.event_time)));
    expect(last - first).toBe(4000);
    expect(last).toBeGreaterThan(Date.UTC(2026, 0, 2));
  });
});
