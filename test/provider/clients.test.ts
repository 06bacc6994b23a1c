import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import { endAfterSuite } from '../support/left-behind.ts';
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
} from './support.ts';

const DAY = 86_400_000;
const hook = {
  name: 'first',
  description: 'a webhook',
  webhook_url: 'https://receiver.example/hooks',
  events: ['media_available', 'channel_idle'],
  site_ids: ['site0001'],
} as const;

/** The mock provider, on its own clock. */
async function startMock() {
  const mock = await MockProvider.start({ port: 0, rateLimit: 100_000 });
  endAfterSuite(() => void mock.close());
  return mock;
}

async function startWebhooks() {
  const mock = await startMock();
  return { mock, client: new WebhooksClient({ baseUrl: mock.url, apiSecret: mock.apiSecret }) };
}

async function startStatuses(token = 'alice-rw') {
  const mock = await startMock();
  const at = (ms: number) => new Date(mock.now() + ms);
  return { at, client: new StatusesClient({ baseUrl: mock.url, token }) };
}

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

const FORM = 'application/x-www-form-urlencoded';

test('webhooks are asked for with the raw secret, and statuses with a Bearer token and a key', async () => {
  const { url, got } = await scripted([201, HOOK], [200, HOOK], [200, STATUS]);
  const { webhooks, statuses } = clientsOf(`${url}/`);
  expect((await webhooks.create(NEW_HOOK)).metadata.description).toBe('');
  await webhooks.get('2yW4KmiG');
  expect((await statuses.schedule({ status: 'x' }, SOON)).params).toMatchObject({ text: 'x', poll: null });
  const key = expect.stringMatching(/^[\da-f-]{36}$/);
  expect(got.map(({ method, url: path, body }) => [method, path, body])).toEqual([
    ['POST', '/v2/webhooks', JSON.stringify({ metadata: NEW_HOOK })],
    ['GET', '/v2/webhooks/2yW4KmiG', ''],
    ['POST', '/api/v1/statuses', 'status=x&scheduled_at=2026-01-02T00%3A00%3A00Z'],
  ]);
  expect(got.map(({ headers }) => headers)).toMatchObject([
    { authorization: 's3cret', 'content-type': 'application/json' },
    { authorization: 's3cret' },
    { authorization: 'Bearer t0ken', 'content-type': FORM, 'idempotency-key': key },
  ]);
});

test('a status is scheduled, read, moved, cancelled and published, when all is well', async () => {
  const { client, at } = await startStatuses();
  const poll = { options: ['a', 'b & c'], expires_in: 3600, multiple: true };
  const created = await client.schedule({ status: 'hé+o', visibility: 'unlisted', poll }, at(DAY));
  const asFields = { options: poll.options, expires_in: '3600', multiple: 'true' };
  expect(created.params).toMatchObject({ text: 'hé+o', visibility: 'unlisted', poll: asFields });
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
  ['a conflict', [409], read, /409 conflict: it gave no reason\. The webhooks may have changed meanwhile/],
  ['a refusal of values', [422], create, /422 unprocessable: .*\. Check the id and the values that were/],
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

test.each(faults)('no client shows its credential, when %s repeats the request', async (_, fault) => {
  const { url, got } = await scripted(fault);
  await expectSecrecy(url);
  expect(got[0]?.headers.authorization).toContain(CREDENTIAL);
  for (const { url: path, body } of got) expect(path + body).not.toContain(CREDENTIAL);
});

test('no client shows its credential, when no server listens', async () => {
  await expectSecrecy(NOWHERE);
});

const BAD_CREDENTIAL = 'a credential of a provider must be printable ASCII without spaces';
const BAD_URL = 'the base URL of a provider must be an http(s) URL without credentials and query';
test.each([
  [NOWHERE, { apiSecret: 'two words' }, BAD_CREDENTIAL],
  [NOWHERE, { token: 'ünïcode' }, BAD_CREDENTIAL],
  ['https://user:pass@x.example', {}, BAD_URL],
])('a client refuses the base URL %s with %j, without showing what is wrong', (baseUrl, more, message) => {
  expect(() => clientsOf(baseUrl, more)).toThrow(new TypeError(message));
});

const hang: Script = () => undefined;
const cutShort: Script = (response) => {
  response.writeHead(200, { 'Content-Length': '1000' }).write('{"id":');
  setImmediate(() => response.destroy());
};
const lost: [string, Script][] = [
  ['a 500', [500]],
  ['a dropped connection', (response) => response.destroy()],
  ['an answer cut short', cutShort],
];

/** Calls that may be carried out twice, with what a server answers them. */
const repeatable: [unknown, (clients: ReturnType<typeof clientsOf>) => Promise<unknown>][] = [
  [[STATUS], ({ statuses }) => statuses.page()],
  [out, ({ statuses }) => statuses.publish({ status: 'x' })],
  [{}, ({ statuses }) => statuses.cancel('1')],
  [HOOK, ({ webhooks }) => webhooks.update('1', { name: 'y' })],
];

describe('a call that may be carried out twice', () => {
  const passing: [string, Script][] = [...lost, ['a 429', [429]]];
  test.each(passing)('is sent again as it was, when there is %s, up to four times', async (_, fault) => {
    for (const [answer, call] of repeatable) {
      const { url, got } = await scripted(fault, fault, [200, answer]);
      const clients = clientsOf(url);
      await call(clients);
      const sent = got.map(({ body, headers }) => `${body} ${headers['idempotency-key']}`);
      expect([sent.length, new Set(sent).size]).toEqual([3, 1]);
      expect(clients.retries.map(({ attempt }) => attempt)).toEqual([1, 2]);
      const down = await scripted(fault);
      expect(await failureOf(call(clientsOf(down.url)))).toMatchObject({ name: 'ProviderError' });
      expect(down.got).toHaveLength(4);
    }
  });

  test.each([400, 422, 501])('is sent once, when the answer is %i', async (status) => {
    for (const [, call] of repeatable) {
      const { url, got } = await scripted([status]);
      expect(await failureOf(call(clientsOf(url)))).toMatchObject({ status });
      expect(got).toHaveLength(1);
    }
  });

  test('is a success, when it removes what an attempt without an answer has removed', async () => {
    const { url, got } = await scripted((response) => response.destroy(), [404]);
    await clientsOf(url).statuses.cancel('1');
    expect(got).toHaveLength(2);
    const limit = await scripted([429], [404]);
    await expect(clientsOf(limit.url).webhooks.delete('1')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the creation of a webhook or a scheduled status', () => {
  test.each(lost)('is sent once, when there is %s, and says where to look first', async (_, fault) => {
    for (const [call, advice] of [
      [create, 'The webhook may be registered in spite of this: look at the list'],
      [schedule, 'The status may be scheduled in spite of this: call again with an idempotencyKey'],
    ] as const) {
      const { url, got } = await scripted(fault, [201, HOOK]);
      expect((await failureOf(call(clientsOf(url)))).message).toContain(advice);
      expect(got).toHaveLength(1);
    }
  });

  test('is sent again, when the limit was exceeded or no server listens, as nothing was carried out', async () => {
    const { url, got } = await scripted([429], [201, HOOK]);
    const { webhooks, waits } = clientsOf(url);
    await webhooks.create(NEW_HOOK);
    expect([got.length, waits]).toEqual([2, [20_000]]);
    const nowhere = clientsOf(NOWHERE);
    const error = await failureOf(nowhere.webhooks.create(NEW_HOOK));
    expect(error).toMatchObject({ code: 'unreachable', status: undefined });
    expect(error.message).toMatch(/^POST \/v2\/webhooks: unreachable: the connection failed .*\. Check the/);
    expect(nowhere.waits).toHaveLength(3);
  });
});

describe('a status with a key, on a server that knows no keys when it schedules', () => {
  const status = { status: 'On air at eight', media_ids: [] };

  /** A client, and one of a process that gets no answer to a creation. */
  async function startOld() {
    const mock = await startMock();
    mock.setStatuses({ before_4_3: true });
    const options = { baseUrl: mock.url, token: 'alice-rw' };
    const client = new StatusesClient(options);
    const lose: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (init?.method === 'POST') throw new TypeError('fetch failed');
      return answer;
    };
    const at = (ms: number) => new Date(mock.now() + ms);
    return { mock, client, dying: new StatusesClient({ ...options, fetch: lose }), at };
  }

  test('is scheduled once, when the process ended before it had the answer, and another one tries again', async () => {
    const { client, dying, at } = await startOld();
    const key = { idempotencyKey: 'the event' };
    const time = at(3 * DAY);
    await expect(dying.schedule(status, time, key)).rejects.toMatchObject({ code: 'unreachable' });
    for (let n = 0; n < 41; n++) await client.schedule(status, at(DAY * (4 + Math.floor(n / 20))));
    const made = await client.schedule(status, time.toISOString().replace('Z', '000+00:00'), key);
    expect([made.id, made.scheduled_at]).toEqual(['1', time.toISOString()]);
    expect(await Array.fromAsync(client.list())).toHaveLength(42);
    expect((await client.schedule({ status: 'another' }, time, key)).params.text).toBe('another');
    const { message } = await failureOf(client.schedule({ ...status, media_ids: ['1'] }, time, key));
    expect(message).toContain('Media 1 not found');
  });

  test('is found among those of other programs, when one has no text and the server keeps whole seconds', async () => {
    const list = [null, 'x'].map((text, id) => {
      const params = { text, application_id: 7 };
      return { id: String(id), scheduled_at: '2026-01-02T00:00:00.000Z', params, media_attachments: [] };
    });
    const { url, got } = await scripted([200, list]);
    const { statuses } = clientsOf(url);
    const made = await statuses.schedule({ status: 'x' }, `${SOON.slice(0, -1)}.789Z`, {
      idempotencyKey: 'k',
    });
    expect([made.id, got.map(({ method }) => method)]).toEqual(['1', ['GET']]);
  });

  test('is not published again, when it is out by the time of the next attempt', async () => {
    const { mock, client, dying, at } = await startOld();
    const key = { idempotencyKey: 'the event' };
    const time = at(3_600_000);
    await failureOf(dying.schedule(status, time, key));
    await mock.advance(3_600_000);
    const clock = { ...systemClock, now: () => mock.now() };
    const later = new StatusesClient({ baseUrl: mock.url, token: 'alice-rw', clock });
    const { message } = await failureOf(later.schedule(status, time, key));
    expect(message).toMatch(/^POST \S+: unprocessable: \S+ is not 5 minutes ahead: some providers/);
    const published = await fetch(`${mock.url}/api/v1/accounts/1/statuses`);
    expect(await published.json()).toMatchObject([{ content: '<p>On air at eight</p>' }]);
    expect(await Array.fromAsync(client.list())).toEqual([]);
  });
});

describe('waits', () => {
  const date = { Date: 'Thu, 01 Jan 2026 00:00:00 GMT' };

  test('double, when faults follow each other, up to ten seconds, half of it by chance', async () => {
    const { url } = await scripted([500]);
    const { statuses, waits } = clientsOf(url, { maxAttempts: 8 });
    await failureOf(statuses.get('1'));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
  });

  test.each([
    ['Retry-After in seconds', 429, { 'Retry-After': '7' }, [7000]],
    ['Retry-After as a date', 429, { ...date, 'Retry-After': 'Thu, 01 Jan 2026 00:00:09 GMT' }, [9000]],
    ['X-RateLimit-Reset', 429, { ...date, 'X-RateLimit-Reset': '2026-01-01T00:00:31.500000Z' }, [31_500]],
    ['what is no time', 429, { 'X-RateLimit-Reset': 'later', 'Retry-After': 'soon' }, [20_000]],
    ['more than may be asked for', 429, { 'Retry-After': '61' }, []],
  ])('follow the provider, when it sends %s', async (_, status, headers, waits) => {
    const { url } = await scripted([status, {}, headers], [200, STATUS]);
    const clients = clientsOf(url);
    const result = await failureOf(clients.statuses.get('1'));
    expect(clients.waits).toEqual(waits);
    if (waits.length === 0)
      expect(result).toMatchObject({ code: 'rate_limit_exceeded', retryAfterMs: 61_000 });
  });
});

const hangInBody: Script = (response) => response.writeHead(200).write('[');

test.each([
  ['nothing is answered', hang],
  ['an answer does not end', hangInBody],
])('time-outs end an attempt, when %s, and the call after the last one', async (_, script) => {
  const { url, got } = await scripted(script);
  const { statuses, retries } = clientsOf(url, { maxAttempts: 2, timeoutMs: 10 });
  const error = await failureOf(statuses.get('1'));
  expect(error).toMatchObject({ code: 'timed_out', cause: { name: 'TimeoutError' } });
  expect(retries).toMatchObject([{ operation: error.operation, reason: 'no answer in time' }]);
  expect(got.length).toBeLessThanOrEqual(2);
});

const gone = new Error('never mind');

test('a signal ends a call with its reason, when it is aborted before, while the provider thinks, or during a wait', async () => {
  const never = await scripted([200, STATUS]);
  const aborted = { signal: AbortSignal.abort(gone) };
  await expect(clientsOf(never.url).statuses.get('1', aborted)).rejects.toBe(gone);
  const thinking = new AbortController();
  const slow = await scripted(() => thinking.abort(gone));
  await expect(clientsOf(slow.url).statuses.get('1', thinking)).rejects.toBe(gone);
  const waiting = new AbortController();
  const busy = await scripted([500]);
  const clock = new VirtualClock();
  const onRetry = () => setImmediate(() => waiting.abort(gone));
  await expect(clientsOf(busy.url, { onRetry, clock }).statuses.get('1', waiting)).rejects.toBe(gone);
  expect([never.got.length, slow.got.length, busy.got.length]).toEqual([0, 1, 1]);
  expect(clock.nextDue()).toBeUndefined();
});
