import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import {
  clientsOf,
  failureOf,
  type Got,
  HOOK,
  NEW_HOOK,
  NOWHERE,
  type Script,
  SOON,
  STATUS,
  scripted,
  startMock,
} from './support.ts';

const DAY = 86_400_000;
const hook = {
  name: 'first',
  description: 'a webhook',
  webhook_url: 'https://receiver.example/hooks',
  events: ['media_available', 'channel_idle'],
  site_ids: ['site0001'],
} as const;

async function startWebhooks() {
  const mock = await startMock();
  return { mock, client: new WebhooksClient({ baseUrl: mock.url, apiSecret: mock.apiSecret }) };
}

async function startStatuses(token = 'alice-rw') {
  const mock = await startMock();
  const at = (ms: number) => new Date(mock.now() + ms);
  return { at, client: new StatusesClient({ baseUrl: mock.url, token }) };
}

test('a webhook is registered, read, changed and deleted, when all is well', async () => {
  const { client } = await startWebhooks();
  const { secret, ...created } = await client.create(hook);
  expect(secret.length).toBeGreaterThanOrEqual(32);
  expect(created).toMatchObject({ type: 'webhook', metadata: hook, schema: null });
  expect(await client.get(created.id)).toEqual(created);
  const { metadata } = await client.update(created.id, { name: 'renamed', events: ['track_created'] });
  expect(metadata).toEqual({ ...hook, name: 'renamed', events: ['track_created'] });
  await client.delete(created.id);
  await expect(client.get(created.id)).rejects.toMatchObject({ code: 'not_found', status: 404 });
});

test('webhooks are listed whole, when there are several pages or none', async () => {
  const { client, mock } = await startWebhooks();
  expect(await Array.fromAsync(client.list())).toEqual([]);
  const names = Array.from({ length: 23 }, (_, n) => `hook ${n}`);
  for (const name of names) mock.createWebhook({ ...hook, name, events: ['media_created'], site_ids: [] });
  for (const page_length of [5, 23, 100]) {
    const listed = await Array.fromAsync(client.list({ page_length }), ({ metadata }) => metadata.name);
    expect(listed.toSorted()).toEqual(names.toSorted());
  }
});

test('webhooks are asked for with the raw secret, and statuses with a Bearer token and a key', async () => {
  const { url, got } = await scripted([201, HOOK], [200, HOOK], [200, STATUS]);
  const { webhooks, statuses } = clientsOf(`${url}/`);
  expect((await webhooks.create(NEW_HOOK)).metadata.description).toBe('');
  await webhooks.get('2yW4KmiG');
  expect((await statuses.schedule({ status: 'x' }, SOON)).params).toMatchObject({ text: 'x', poll: null });
  const [json, key] = ['application/json', expect.stringMatching(/^[\da-f-]{36}$/)];
  expect(got.map(({ method, url: path, body }) => [method, path, body])).toEqual([
    ['POST', '/v2/webhooks', JSON.stringify({ metadata: NEW_HOOK })],
    ['GET', '/v2/webhooks/2yW4KmiG', ''],
    ['POST', '/api/v1/statuses', `{"status":"x","scheduled_at":"${SOON}"}`],
  ]);
  expect(got.map(({ headers }) => headers)).toMatchObject([
    { authorization: 's3cret', 'content-type': json },
    { authorization: 's3cret' },
    { authorization: 'Bearer t0ken', 'content-type': json, 'idempotency-key': key },
  ]);
});

test('a status is scheduled, read, moved, cancelled and published, when all is well', async () => {
  const { client, at } = await startStatuses();
  const poll = { options: ['a', 'b'], expires_in: 3600, multiple: true };
  const created = await client.schedule({ status: 'hello', visibility: 'unlisted', poll }, at(DAY));
  expect(created.params).toMatchObject({ text: 'hello', visibility: 'unlisted', poll, media_ids: null });
  expect(await client.get(created.id)).toEqual(created);
  const later = at(2 * DAY).toISOString();
  expect(await client.reschedule(created.id, later)).toEqual({ ...created, scheduled_at: later });
  await client.cancel(created.id);
  await expect(client.get(created.id)).rejects.toMatchObject({ code: 'not_found', status: 404 });
  expect(await client.publish({ status: 'now' })).toMatchObject({ content: '<p>now</p>' });
});

test('statuses are listed page by page, when there are 45, from the newest down and within bounds', async () => {
  const { client, at } = await startStatuses();
  const ids: string[] = [];
  for (let n = 0; n < 45; n++)
    ids.unshift((await client.schedule({ status: `${n}` }, at(DAY * (1 + Math.floor(n / 20))))).id);
  const listed = (listing = {}) => Array.fromAsync(client.list(listing), ({ id }) => id);
  expect(await listed()).toEqual(ids);
  const within = { since_id: ids[25], max_id: ids[5], limit: 3 };
  expect(await listed(within)).toEqual(ids.slice(6, 25));
  const { statuses, ...cursors } = await client.page({ limit: 2, max_id: `${ids[9]}` });
  expect([statuses.length, cursors]).toEqual([2, { next: ids[11], prev: ids[10] }]);
});

const frozen = { errors: [{ code: 'site_frozen', description: 'The site is frozen.' }] };
const out = { id: '9', created_at: SOON, content: '', visibility: 'public', url: null };
const elsewhere = { Location: 'https://elsewhere.example/' };
type Call = (clients: ReturnType<typeof clientsOf>) => Promise<unknown>;
const read: Call = ({ webhooks }) => webhooks.get('x');
const list: Call = ({ statuses }) => statuses.page();
const schedule: Call = ({ statuses }) => statuses.schedule({ status: 'x' }, SOON);
const create: Call = ({ webhooks }) => webhooks.create(NEW_HOOK);
test.each<[string, Script, Call, RegExp]>([
  ['a code of its own', [400, frozen], read, /^GET \S+\/x: 400 site_frozen: The site is frozen\. Correct/],
  ['no reason', [401], read, /401 unauthorized: it gave no reason\. Check the API secret: it must be/],
  ['JSON of another shape', [200, { hello: 'world' }], list, /200 unexpected_answer: .*schema \(body: /],
  ['a redirect', [302, {}, elsewhere], list, /302 unexpected_answer: .* Check that the base URL/],
  ['a published status', [200, out], schedule, / published_at_once: .* as status 9\. Schedule more than 5/],
  ['a webhook without its secret', [201, { ...HOOK, secret: null }], create, /\(secret: .*look at the list/],
])('the error says what was wrong and what to do, when the answer is %s', async (_, script, call, text) => {
  const { url, got } = await scripted(script);
  expect((await failureOf(call(clientsOf(url)))).message).toMatch(text);
  expect(got).toHaveLength(1);
});

const CREDENTIAL = 'v3ry-s3cret-credential';
const echo = ({ headers: { authorization } }: Got) => ({
  error: `you sent ${authorization}`,
  errors: [{ code: `bad ${authorization}`, description: `you sent ${authorization}` }],
});
const echoing =
  (status: number): Script =>
  (response, got) =>
    response.writeHead(status, { Location: `/?${got.headers.authorization}` }).end(JSON.stringify(echo(got)));

const faults: [string, Script][] = [
  ...[200, 302, 401, 500].map((status): [string, Script] => [`a ${status}`, echoing(status)]),
  ['text', (response, got) => response.end(`${got.headers.authorization}`)],
  ['a dropped connection', (response) => response.destroy()],
];

async function expectSecrecy(baseUrl: string): Promise<void> {
  const { webhooks, statuses, retries } = clientsOf(baseUrl, { apiSecret: CREDENTIAL, token: CREDENTIAL });
  const calls = [
    () => webhooks.create(NEW_HOOK),
    () => webhooks.update('1', { name: 'y' }),
    () => webhooks.delete('1'),
    () => webhooks.list().next(),
    () => statuses.schedule({ status: 'x' }, SOON),
    () => statuses.cancel('1'),
    () => statuses.list().next(),
  ];
  for (const call of calls) {
    const result = await call().catch((error) => error);
    if (result instanceof Error)
      expect(inspect(result, { depth: 9, showHidden: true })).not.toContain(CREDENTIAL);
  }
  expect(inspect([retries, webhooks, statuses], { depth: 9, showHidden: true })).not.toContain(CREDENTIAL);
}

test.each(faults)(
  'no client shows its credential, when the answer is %s that repeats the request',
  async (_, fault) => {
    const { url, got } = await scripted(fault);
    await expectSecrecy(url);
    expect(got[0]?.headers.authorization).toContain(CREDENTIAL);
    for (const { url: path, body } of got) expect(path + body).not.toContain(CREDENTIAL);
  },
);

test('no client shows its credential, when no server listens', async () => {
  await expectSecrecy(NOWHERE);
});

const BAD_CREDENTIAL = 'a credential of a provider must be printable ASCII without spaces';
const BAD_URL = 'the base URL of a provider must be an http(s) URL without credentials and query';
test.each([
  [NOWHERE, { apiSecret: 'two words' }, BAD_CREDENTIAL],
  [NOWHERE, { token: 'ünïcode' }, BAD_CREDENTIAL],
  ['ftp://x.example', {}, BAD_URL],
  ['https://user:pass@x.example', {}, BAD_URL],
  ['https://x.example/?key=1', {}, BAD_URL],
])('a client refuses the base URL %s with %j, without showing what is wrong', (baseUrl, more, message) => {
  expect(() => clientsOf(baseUrl, more)).toThrow(new TypeError(message));
});
