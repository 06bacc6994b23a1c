import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { fail } from '../../src/dispatch/outcome.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { eventually } from '../support/eventually.ts';
import { notification, WEBHOOK } from '../support/genuine.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { type Inspected, inspect, inspectedForEachTest } from '../support/inspected-service.ts';

const start = inspectedForEachTest();
const RIGHT = 'the-right-secret-of-thirty-two-bytes';
const MARKUP = '"><script>run()</script>';
const HOSTILE = `${MARKUP}${SPOOF}`;

const page = async ({ raw }: Inspected, path: string) =>
  (await raw(path, { headers: { accept: 'text/html' } })).body;
const kept = ({ service }: Inspected, count: number) =>
  eventually(`${count} are in quarantine`, async () => (await service.store.quarantine.size()) === count);
const doneOf = ({ log }: Inspected) =>
  log.withMessage('done at the inspector').map(({ path, asked, answer }) => ({ path, asked, answer }));

test('problems are groups of dead and waiting events that lead to their events and say the innermost cause, and a line where there are none', async () => {
  const inspected = await start(
    {
      media_deleted: ({ media_id: id }) => {
        const cause = new Error('connect ECONNREFUSED search:9200');
        throw new Error(`archive answered 503 for ${id} after 7 ms ${MARKUP}`, { cause });
      },
      media_updated: () => fail('é_%'.repeat(1000)),
    },
    { RETRY_BASE_MS: '600000', RETRY_CAP_MS: '600000' },
  );
  expect(await page(inspected, '/problems')).toContain('No event is dead, and none waits after a failure');
  for (const media_id of ['one', 'two'])
    await inspected.deliver(notification({ event: 'media_deleted', media_id }));
  await inspected.deliver(notification({ event: 'media_deleted', media_id: undefined }));
  await inspected.deliver(notification({ event: 'media_updated' }));
  const problems = async () => (await inspected.api('/problems')).problems;
  await eventually(
    'all have failed',
    async () => (await problems())[0]?.count === 2 && (await problems()).length === 3,
  );
  const time = expect.stringMatching(/^2.*Z$/);
  const alike = /^Error: archive answered 503 for \* after \* ms .*: connect ECONNREFUSED search:9200$/;
  expect(await problems()).toMatchObject([
    { status: 'pending', error: expect.stringMatching(alike), next_at: time, failing_since: time },
    { status: 'dead', kind: 'media_updated', error: expect.stringMatching(/^[é_%]{200}\*$/), next_at: null },
    { status: 'dead', error: expect.stringContaining('invalid payload'), count: 1, next_at: null },
  ]);
  const html = await page(inspected, '/problems');
  expect(html).not.toContain('<script>run');
  const [, , ...queries] = [...html.matchAll(/href="events\?([^"]+)"/g)].map(([, query = '']) =>
    query.replaceAll('&amp;', '&'),
  );
  for (const [at, count] of [2, 1, 1].entries()) {
    expect((await inspected.api(`/events?${queries[at]}`)).events).toHaveLength(count);
    for (const verb of ['replay', 'dismiss'])
      expect(html).toContain(`href="events/${verb}?${queries[at]?.replaceAll('&', '&amp;')}"`);
  }
  for (const [status, count] of [
    ['pending&waiting=failed', 2],
    ['dead', 2],
  ] as const) {
    expect(html).toContain(`href="events?status=${status.replace('&', '&amp;')}"`);
    expect((await inspected.api(`/events?status=${status}`)).events).toHaveLength(count);
  }
});

test('the page of an event shows an error of several attempts once, whatever numbers are in it, and the end of their logs, nothing redacted', async () => {
  let tries = 0;
  const handlers: Handlers = {
    media_available(_event, ctx) {
      tries++;
      for (let n = 0; n < 200; n++) ctx.log.info({ n, event: 'own' }, 'early');
      ctx.log.child({ token: 'sesame' }, { redact: ['token'] }).warn('half \ud800, nul \0');
      throw new Error(`archive answered ${tries > 2 ? 404 : 503} after ${tries * 10} ms`);
    },
    media_updated: (_event, ctx) => ctx.log.info('of no use'),
  };
  const inspected = await start(handlers, { RETRY_BASE_MS: '1', RETRY_MAX_ATTEMPTS: '3' });
  for (const event of ['media_available', 'media_updated']) await inspected.deliver(notification({ event }));
  await inspected.settled();
  const eventOf = async (kind: string) =>
    inspected.api(`/events/${(await inspected.api(`/events?kind=${kind}`)).events[0].id}`);
  const failed = await eventOf('media_available');
  const html = await page(inspected, `/events/${failed.id}`);
  expect(html.match(/archive answered \d+ after \d+ ms/g)).toEqual([
    'archive answered 404 after 30 ms',
    'archive answered 503 after 20 ms',
  ]);
  expect(html).toMatch(/error<\/span> 2 times/);
  expect(html.match(/&quot;n&quot;:199}/g)).toHaveLength(3);
  const log = /Z info early {"event":"own","n":199}\n\S+Z warn half ., nul . {"token":"\[Redacted]"}$/;
  for (const one of failed.history) expect(one).toMatchObject({ log: expect.stringMatching(log) });
  expect(Buffer.byteLength(failed.history[0].log)).toBeLessThan(8192);
  expect((await eventOf('media_updated')).history).toMatchObject([{ log: null }]);
});

test('a page of dev sends the payload of a kind as somebody changed it, signed, and leads to its event; serve has none', async () => {
  const handlers: Handlers = { track_created: (_event, ctx) => ctx.log.info('done') };
  const inspected = await start(handlers, {}, { isDev: true });
  const form = await page(inspected, '/send?kind=track_created');
  const [, sample = ''] = /<textarea[^>]*>([^<]*)</.exec(form) ?? [];
  const body = sample.replaceAll('&quot;', '"').replace('media001', 'mine');
  const sent = (given: string) => inspected.post('/send?kind=track_created', { body: given });
  const [, id] = /accepted.*href="events\/([^"]+)">its event/s.exec((await sent(body)).body) ?? [];
  await inspected.settled();
  const history = [{ outcome: 'handled', log: expect.stringMatching(/Z info done$/) }];
  expect(await inspected.api(`/events/${id}`)).toMatchObject({ resource: 'media:mine', body, history });
  expect((await sent(body.replaceAll('\n', '\r\n'))).body).toContain('duplicate');
  expect((await sent(body.replace(WEBHOOK, 'strange'))).body).toMatch(/401.*could not be verified/s);
  expect((await sent(`[${MARKUP}]`)).body).toMatch(/400.*&lt;script/s);
  const serving = await start();
  for (const answer of [await serving.raw('/send'), await serving.post('/send', { body })])
    expect(answer.status).toBe(404);
  expect(await page(serving, '/')).not.toContain('href="send"');
});

describe('what was refused', () => {
  test('has the reason and the webhook, when its secret is wrong and its source is throttled, whichever process refused it', async () => {
    const inspected = await start({}, { REJECT_LIMIT: '2' });
    const group = { network: '127.0.0.0/24', firstAt: 1, lastAt: 2, count: 3, inARow: 4, rowSince: 1 };
    const other = { ...group, reason: 'no_secret', webhookId: 'other' };
    const mine = { ...group, reason: 'bad_signature', webhookId: WEBHOOK };
    const instance = { name: 'another', version: '1', startedAt: 0, running: 0, kinds: [] };
    await inspected.service.store.reports.report({ instance, stats: [], refusals: [other, mine] });
    const statuses = [];
    for (let n = 0; n < 6; n++)
      statuses.push((await inspected.deliver(notification({ media_id: `m${n}` }), RIGHT)).status);
    expect(statuses).toEqual([401, 401, 429, 429, 429, 429]);
    const first_at = new Date(1).toISOString();
    const all = {
      reason: 'bad_signature',
      webhook_id: WEBHOOK,
      network: '127.0.0.0/24',
      first_at,
      count: 9,
      in_a_row: 10,
    };
    const others = { webhook_id: 'other', count: 3 };
    expect(await inspected.api('/refusals')).toMatchObject({ refusals: [all, others], more: 0 });
    expect(await page(inspected, '/refused')).toMatch(/bad signature<\/b> 9 times, webhook\s+.*2yW4KmiG/);
    expect(await page(inspected, '/webhooks')).toContain('No notification of it gets in. Signed with');
  });

  test('stays a short page without markup, when a stranger names hundreds of odd webhooks', async () => {
    const inspected = await start();
    const odd = Array.from({ length: 130 }, (_, n) => ({ webhook_id: `${MARKUP}${n}`, media_id: MARKUP }));
    await Promise.all(odd.map((members) => inspected.deliver(notification(members), RIGHT)));
    await inspected.deliver(notification(), RIGHT);
    await kept(inspected, 131);
    const html = await page(inspected, '/refused');
    expect(html).not.toContain('<script>run');
    expect(html.match(/<li>/g)?.length).toBeLessThan(160);
    expect(html.length).toBeLessThan(120_000);
    expect(html).toContain('And 31 older groups');
    expect(await page(inspected, '/webhooks')).not.toContain('run()');
    expect((await inspected.api('/webhooks')).webhooks).toMatchObject([
      { webhook_id: WEBHOOK, last_refused: { reason: 'bad_signature' }, last_accepted_at: null },
    ]);
  });
});

describe('what is in quarantine', () => {
  test('is dropped for one webhook, up to a time, or for all if somebody says so, and the log says who did it', async () => {
    const inspected = await start();
    for (const webhook_id of ['gone', MARKUP, 'third']) {
      for (const media_id of ['a', 'b'])
        await inspected.deliver(notification({ webhook_id, media_id }), RIGHT);
    }
    await kept(inspected, 6);
    expect(await inspected.post('/api/quarantine/drop', { webhook: '' })).toMatchObject({ status: 400 });
    const old = { webhook: 'gone', before: '2020-01-01' };
    expect((await inspected.post('/api/quarantine/drop', old)).body).toBe('{"dropped":0}');
    const html = await page(inspected, '/refused');
    const [form = ''] = html.match(/quarantine\/drop\?webhook=%22[^"]+/) ?? [];
    const [path, referer] = [`/${form.replaceAll('&amp;', '&')}`, `${inspected.url}/refused`];
    const answer = await inspected.raw(path, { method: 'POST', headers: { origin: inspected.url, referer } });
    expect(answer).toMatchObject({ status: 303, headers: { location: referer } });
    await kept(inspected, 4);
    expect((await inspected.post('/api/quarantine/drop', { all: true })).body).toBe('{"dropped":4}');
    expect(doneOf(inspected)).toMatchObject([
      { path: '/api/quarantine/drop', answer: { dropped: 0 } },
      { path: '/quarantine/drop', asked: { webhook: MARKUP }, answer: { dropped: 2 } },
      { path: '/api/quarantine/drop', asked: { all: true }, answer: { dropped: 4 } },
    ]);
  });
});

describe('webhooks', () => {
  test('have name, URL and sites from the provider, which is asked once a minute or when a secret is new, and their standing', async () => {
    const provider = await MockProvider.start({ port: 0, seed: 3 });
    const metadata = { name: MARKUP, webhook_url: 'https://hooks.example/in', site_ids: ['site0001'] };
    const { id } = provider.createWebhook({ ...metadata, events: [...kindNames] });
    const env = { PROVIDER_BASE_URL: provider.url, PROVIDER_API_SECRET: 'mock-api-secret' };
    const inspected = await start({ media_available() {} }, env);
    await inspected.deliver(notification());
    await inspected.service.store.secrets.retire(WEBHOOK, 'former', Date.now() + 60_000);
    const told = () => inspected.api('/webhooks');
    expect((await told()).webhooks).toMatchObject([
      { webhook_id: id, provider: metadata, secret: 'missing', last_accepted_at: null },
      { webhook_id: WEBHOOK, provider: null, secret: 'live', last_accepted_at: expect.any(String) },
    ]);
    const html = await page(inspected, '/webhooks');
    for (const text of ['https://hooks.example/in', 'site0001', 'gone at the provider', 'missing'])
      expect(html).toContain(text);
    expect(html).not.toContain('<script>run');
    const next = provider.createWebhook({ ...metadata, events: [...kindNames] });
    expect((await told()).webhooks).toHaveLength(2);
    await inspected.service.store.secrets.add(next.id, next.secret);
    expect((await told()).webhooks[1]).toMatchObject({
      webhook_id: next.id,
      provider: metadata,
      secret: 'live',
    });
    await provider.close();
  });

  test('say why the provider did not answer, and that it cannot be asked without its secret', async () => {
    const refused = { PROVIDER_BASE_URL: 'http://127.0.0.1:9', PROVIDER_API_SECRET: 'api-secret-of-ours' };
    const inspected = await start({}, refused);
    expect(await inspected.api('/webhooks')).toMatchObject({
      provider_unknown: expect.stringContaining('unreachable'),
    });
    const html = await page(inspected, '/webhooks');
    expect(html).toContain('Names, URLs and sites are missing');
    expect(html).not.toMatch(/gone at the provider|api-secret-of-ours/);
    expect(await page(await start(), '/webhooks')).toContain('PROVIDER_API_SECRET is not set');
  });
});

test('the form of a list keeps what was typed and says what is wrong, when a resource is none', async () => {
  const inspected = await start();
  await inspected.deliver(notification());
  const path = '/events?resource=UUhbHm6C&site=site0001';
  const { status, body } = await inspected.raw(path, { headers: { accept: 'text/html' } });
  expect(status).toBe(400);
  const said = 'role="alert">resource: must be media:ID or channel:ID';
  for (const text of [said, 'value="UUhbHm6C"', 'value="site0001"', 'Nothing was searched for'])
    expect(body).toContain(text);
  expect(body).not.toContain('media:UUhbHm6C');
});

describe('text of strangers that turns around, hides or is markup', () => {
  let inspected: Inspected;
  let id: string;
  beforeAll(async () => {
    inspected = await inspect({
      media_available() {
        throw new Error(`broken ${HOSTILE}`);
      },
    });
    const body = notification({ media_id: MARKUP, title: HOSTILE });
    await inspected.deliver(body);
    await inspected.deliver({ ...body, event: `e${HOSTILE}`, webhook_id: `w${HOSTILE}` });
    await inspected.deliver({ ...body, [HOSTILE]: 1 }, 'another secret than the one that is stored');
    const channel = { channel_id: MARKUP, event: 'channel_active', site_id: MARKUP, media_id: undefined };
    await inspected.deliver(notification(channel));
    await inspected.settled();
    id = (await inspected.api('/events?kind=media_available')).events[0].id;
  });

  test.each('/ /problems /events /events/ID /refused /channels /webhooks /reminders /changes'.split(' '))(
    'is visible on %s, and means the same in its JSON',
    async (path) => {
      const page = await inspected.raw(path.replace('ID', id), { headers: { accept: 'text/html' } });
      expect([page.status, hostileIn(page.body)]).toEqual([200, []]);
      expect(page.body).not.toContain('<script>run');
      if (!/problems|events|refused/.test(path)) return;
      expect(page.body).toContain('\\u202e');
      const apis = path === '/refused' ? ['/refusals', '/rejections', '/quarantine'] : [path];
      for (const api of apis) {
        const answer = await inspected.raw(`/api${api.replace('ID', id)}`);
        expect(hostileIn(answer.body)).toEqual([]);
        expect(JSON.stringify(JSON.parse(answer.body))).toContain('\u202e');
      }
    },
  );
});
