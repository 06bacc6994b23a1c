import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kindNames } from '../../../src/notification/kinds.ts';
import { SITE } from '../../support/installation.ts';
import { type InstallationOnEngine, installOnEngine } from '../../support/installation-on-engine.ts';

const URL = 'https://your.host/webhooks/media';
let here: InstallationOnEngine;
beforeAll(async () => {
  here = await installOnEngine();
});
afterAll(() => here.dispose());

const create = (...more: string[]) =>
  here.json(['webhooks', 'create', '--name', 'main', '--url', URL, '--site', SITE, ...more]);

test('registers a webhook and stores its secret, when it is created, without showing it', async () => {
  const { id, secret } = await create('--all-events', '--description', 'of the tests');
  expect(secret).toBe('live');
  const registered = here.mock.listWebhooks().find((webhook) => webhook.id === id);
  expect(registered?.metadata).toEqual({
    name: 'main',
    description: 'of the tests',
    webhook_url: URL,
    events: [...kindNames],
    site_ids: [SITE],
  });
  expect(await here.json(['webhooks', 'show', id])).toMatchObject({ id, secret: 'live', live_secrets: 1 });
});

test('says so in a line, when a webhook is created without --json', async () => {
  const args = [
    'webhooks',
    'create',
    '--name',
    'a',
    '--url',
    URL,
    '--site',
    's',
    't',
    '--event',
    'media_created',
  ];
  const { code, stdout, stderr } = await here.cli(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^webhook \w{8} is registered, and its secret is stored\n$/);
  expect(here.mock.listWebhooks().at(-1)?.metadata).toMatchObject({
    site_ids: ['s', 't'],
    events: ['media_created'],
  });
});

test('lists what the provider and the store know, when they differ, with what each lacks', async () => {
  const { id } = await create('--all-events');
  const foreign = here.foreignWebhook('https://else.where/hook');
  await here.cli(['webhooks', 'import', '--id', 'gone0000'], { stdin: 'a-secret-of-a-webhook-that-is-gone' });
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

test('lists the stored secrets, when it is told to and the provider is not there', async () => {
  const { id } = await create('--all-events');
  const env = { PROVIDER_BASE_URL: 'http://127.0.0.1:9', PROVIDER_API_SECRET: '' };
  const views: { id: string }[] = await here.json(['webhooks', 'list', '--stored'], { env });
  expect(views.find((view) => view.id === id)).toEqual({ id, secret: 'live', live_secrets: 1, retiring: [] });
});

test('shows that the secret of the environment stands in, when nothing is stored', async () => {
  const { id } = here.foreignWebhook(URL);
  const env = { WEBHOOK_SECRET: 'a-secret-for-all-of-them-0123456789' };
  const { stdout } = await here.cli(['webhooks', 'show', id], { env });
  expect(stdout).toMatch(/^secret +WEBHOOK_SECRET$/m);
  expect(stdout).not.toContain(env.WEBHOOK_SECRET);
});

test('changes the given settings and nothing else, when a webhook is updated', async () => {
  const { id } = await create('--event', 'media_created', '--description', 'kept');
  const view = await here.json(['webhooks', 'update', id, '--name', 'other', '--all-events']);
  expect(view).toMatchObject({ id, secret: 'live', provider: { name: 'other' } });
  expect(here.mock.listWebhooks().find((webhook) => webhook.id === id)?.metadata).toEqual({
    name: 'other',
    description: 'kept',
    webhook_url: URL,
    events: [...kindNames],
    site_ids: [SITE],
  });
});

test('deletes a webhook and lets its secret verify for the grace time, when it is deleted', async () => {
  const { id } = await create('--all-events');
  const { secret_until: until, ...rest } = await here.json(['webhooks', 'delete', id, '--grace', '1h']);
  expect(rest).toEqual({ id, deleted: true });
  expect(Date.parse(until)).toBeGreaterThan(Date.now() + 3_500_000);
  expect(here.mock.listWebhooks().map((webhook) => webhook.id)).not.toContain(id);
  expect(await here.json(['webhooks', 'show', id])).toMatchObject({
    provider: null,
    secret: 'retiring',
    retiring: [until],
  });
});

test('finishes a deletion, when the provider had the webhook deleted already, and takes the secret at once', async () => {
  const { id } = await create('--all-events');
  here.mock.deleteWebhook(id);
  const { deleted } = await here.json(['webhooks', 'delete', id, '--grace', '0s']);
  expect(deleted).toBe(false);
  expect(
    (await here.json(['webhooks', 'list', '--stored'])).map((view: { id: string }) => view.id),
  ).not.toContain(id);
});

test.each(['show', 'update', 'delete', 'rotate'])(
  'says that there is none, when %s is told an unknown id, and ends with 1',
  async (command) => {
    const more = command === 'update' ? ['--name', 'x'] : [];
    const { code, stdout, stderr } = await here.cli(['webhooks', command, 'unknown0', ...more]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^hookkit: .*(no webhook unknown0|not_found).*\n$/);
  },
);

test.each([
  ['no url or site', ['create', '--name', 'x'], /needs --url, --site, --event or --all-events as well/],
  ['a plain http URL', ['create', '--name', 'x', '--url', 'http://your.host/'], /https only/],
  [
    'a URL with a password',
    ['create', '--url', 'https://a:b@your.host/'],
    /must not have a user name or a password/,
  ],
  ['an unknown kind', ['create', '--event', 'media_exploded'], /Allowed choices are media_created/],
  [
    'both --event and --all-events',
    ['create', '--all-events', '--event', 'media_created'],
    /cannot be used with/,
  ],
  ['nothing to change', ['update', 'x'], /nothing to change/],
  ['a grace without a unit', ['delete', 'x', '--grace', '10'], /such as 10m/],
])('says what is wrong, when given %s, and ends with 2', async (_case, args, message) => {
  const { code, stdout, stderr } = await here.cli(['webhooks', ...args]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('says which variable to set, when there is no API secret, and ends with 2', async () => {
  const { code, stderr } = await here.cli(['webhooks', 'list'], { env: { PROVIDER_API_SECRET: '' } });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^hookkit: PROVIDER_API_SECRET is not set: .*\n$/);
});

test('says that the API secret is refused, when it is wrong, without showing it, and ends with 1', async () => {
  const env = { PROVIDER_API_SECRET: 'wrong-api-secret' };
  const { code, stderr } = await here.cli(['webhooks', 'list'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^hookkit: GET \/v2\/webhooks: 401 unauthorized: .*\n$/);
  expect(stderr).not.toContain('wrong-api-secret');
});
