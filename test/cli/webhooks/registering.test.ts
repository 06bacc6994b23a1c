import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { MockProvider } from '../../../src/mock/index.ts';
import { kindNames } from '../../../src/notification/kinds.ts';
import { createCommand, install, SITE } from '../../support/installation.ts';
import { handOn } from '../../support/provider-proxy.ts';
import { startCli } from '../../support/run-cli.ts';

const URL = 'https://your.host/webhooks/media';
const here = await install();
await (await here.openStore()).close();
afterAll(() => here.dispose());

const create = (...more: string[]) =>
  here.json(['webhooks', 'create', '--name', 'main', '--url', URL, '--site', SITE, ...more]);

test('lists what the provider and the store know, when they differ, with what each lacks', async () => {
  const id = await here.register(URL, { site_ids: [SITE] });
  const foreign = here.foreignWebhook('https://else.where/hook');
  const store = await here.openStore();
  await store.secrets.add('gone0000', 'a-secret-of-a-webhook-that-is-gone');
  await store.close();
  const views: { id: string }[] = await here.json(['webhooks', 'list']);
  const view = (wanted: string) => views.find((one) => one.id === wanted);
  expect(view(id)).toMatchObject({ secret: 'live', provider: { name: 'main' } });
  expect(view(foreign.id)).toMatchObject({ secret: 'missing', live_secrets: 0 });
  expect(view('gone0000')).toMatchObject({ secret: 'live', provider: null });
  const { stdout } = await here.cli(['webhooks', 'list']);
  expect(stdout).toMatch(new RegExp(`^${id} +main +${URL} +${SITE} +all 13 +live$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^${foreign.id} .* MISSING$`, 'm'));
  expect(stdout).toMatch(/^gone0000 .* live; gone at the provider$/m);
});

test('registers a webhook as told, and changes the given settings and nothing else, when it is updated', async () => {
  const { id, secret } = await create('--event', 'media_created', '--description', 'kept');
  expect(secret).toBe('live');
  const metadata = () => here.mock.listWebhooks().find((webhook) => webhook.id === id)?.metadata;
  const given = { description: 'kept', webhook_url: URL, site_ids: [SITE] };
  expect(metadata()).toEqual({ ...given, name: 'main', events: ['media_created'] });
  const view = await here.json(['webhooks', 'update', id, '--name', 'other', '--all-events']);
  expect(view).toMatchObject({ id, provider: { name: 'other' } });
  expect(metadata()).toEqual({ ...given, name: 'other', events: [...kindNames] });
});

test('says which setting the provider refuses, and ends with 1, when it does not send to the URL', async () => {
  const { code, stderr } = await here.cli(createCommand('http://receiver-1:3000/webhooks/media'));
  expect([code, stderr]).toEqual([1, expect.stringMatching(/400 invalid_body: .* metadata\.webhook_url: /)]);
});

test('deletes a webhook and lets its secret verify for the grace time, when it is deleted', async () => {
  const id = await here.register(URL);
  const { secret_until: until, ...rest } = await here.json(['webhooks', 'delete', id, '--grace', '1h']);
  expect(rest).toEqual({ id, deleted: true });
  expect(Date.parse(until)).toBeGreaterThan(Date.now() + 3_500_000);
  expect(here.mock.listWebhooks().map((webhook) => webhook.id)).not.toContain(id);
  const shown = { provider: null, secret: 'retiring', retiring: [until] };
  expect(await here.json(['webhooks', 'show', id])).toMatchObject(shown);
});

test('stores no secret that begins with mock-, when other machines reach the receiver: neither an imported nor a created one', async () => {
  const seeded = await MockProvider.start({ port: 0, seed: 1 });
  const imported = (env: Readonly<Record<string, string>>) =>
    here.cli(['webhooks', 'import', '--id', 'seeded00'], { stdin: 'mock-1', env });
  const refused = await imported({});
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(
    /begins with mock-, so anybody can compute it.*: give the one of the provider/,
  );
  const created = await here.cli(createCommand(URL), { env: { PROVIDER_BASE_URL: seeded.url } });
  expect(created.stderr).toMatch(/begins with mock-.*so it was deleted again/);
  expect(seeded.listWebhooks()).toEqual([]);
  expect(await imported({ HOST: '127.0.0.1' })).toMatchObject({ code: 0 });
  await seeded.close();
});

test('keeps the former secret live for the grace time, when an import replaces it, and ends it at once with --now', async () => {
  const imported = (secret: string, ...more: string[]) =>
    here.json(['webhooks', 'import', '--id', 'hook0002', ...more], { stdin: secret });
  await imported('first-secret');
  expect(await imported('second-secret')).toEqual({ id: 'hook0002', stored: true, admitted: 0, waiting: 0 });
  const { retired, others_until } = await imported('third-secret', '--replace');
  expect(retired).toBe(2);
  expect(Date.parse(others_until)).toBeGreaterThan(Date.now() + 500_000);
  const retiring = async () => (await here.json(['webhooks', 'show', 'hook0002'])).retiring;
  expect(await retiring()).toHaveLength(2);
  expect(await imported('third-secret', '--now')).toMatchObject({ retired: 2 });
  expect(await retiring()).toEqual([]);
});

test.each([
  ['two words', /spaces/],
  ['"a-secret"', /quotes/],
  ['{"secret":"a-secret"}', /JSON/],
  ['a-secret\u200b', /invisible/],
  [Buffer.from('a-secret', 'utf16le'), /UTF-8/],
])('refuses what is no secret, when %j is imported, with 2 and without showing it', async (stdin, why) => {
  const run = await here.cli(['webhooks', 'import', '--id', 'hook0001'], { stdin });
  expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(why) });
  expect(run.stderr).not.toMatch(/words|a-secret/);
});

test('create deletes the webhook again, when its secret cannot be stored, and ends with 1', async () => {
  const before = here.mock.listWebhooks();
  await here.database.execute({
    sqlite: `CREATE TRIGGER no_secrets BEFORE INSERT ON secrets BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
    postgres: `
      CREATE FUNCTION no_secrets() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''the disk is full''; END';
      CREATE TRIGGER no_secrets BEFORE INSERT ON hookkit.secrets FOR EACH ROW EXECUTE FUNCTION no_secrets()`,
  });
  const { code, stdout, stderr } = await here.cli(createCommand(URL));
  await here.database.execute({
    sqlite: 'DROP TRIGGER no_secrets',
    postgres: 'DROP FUNCTION no_secrets CASCADE',
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/could not be stored \(.*the disk is full.*\), so it was deleted again/);
  expect(here.mock.listWebhooks()).toEqual(before);
});

test('create stores the secret first, when interrupted between the creation and the storing', async () => {
  here.provider.intercept = async (_asked, forward) => {
    const answer = await forward();
    creating.kill('SIGINT');
    await creating.says('half-done');
    return answer;
  };
  const creating = startCli([...createCommand(URL), '--json'], { env: here.env });
  const { code, stdout } = await creating.ended;
  here.provider.intercept = handOn;
  expect(code).toBe(0);
  const store = await here.openStore();
  expect((await store.secrets.live()).map(({ webhookId }) => webhookId)).toContain(JSON.parse(stdout).id);
  await store.close();
});

test('a command says that there is no database, makes none, and goes on where it can; webhooks create makes one', async () => {
  const empty = await install({}, 'sqlite');
  const { id } = empty.foreignWebhook(URL, 'main');
  const told = /there is no database at .*receiver\.db: .*run this where the receiver runs/;
  for (const [args, expected] of [
    [['rotate', id], 1],
    [['list'], 0],
  ] as const) {
    const { code, stdout, stderr } = await empty.cli(['webhooks', ...args]);
    expect([code, stdout.includes(id)]).toEqual([expected, expected === 0]);
    expect(stderr).toMatch(told);
    expect(existsSync(join(empty.directory, 'data'))).toBe(false);
  }
  expect((await empty.cli(createCommand(URL))).code).toBe(0);
  expect(existsSync(empty.path)).toBe(true);
  await empty.dispose();
});
