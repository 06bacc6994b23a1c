import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { claimOne, SKIPPED } from '../../support/claiming.ts';
import { deskForEachTest, type EventDesk, ndjson } from '../../support/event-desk.ts';
import { eventually } from '../../support/eventually.ts';
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
