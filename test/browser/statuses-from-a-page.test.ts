import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { describeInBrowser, tabs } from '../support/browser.ts';

const PACKAGES = fileURLToPath(new URL('../../node_modules/', import.meta.url));
/** The real client from the npm registry as it is: a browser loads its modules one by one. */
const IMPORTS = {
  masto: '/masto/dist/index.js',
  'change-case': '/change-case/dist/index.js',
  'events-to-async': '/events-to-async/module/events-to-async.js',
  'ts-custom-error': '/ts-custom-error/dist/custom-error.mjs',
};

describeInBrowser('a page of another origin', () => {
  let mock: MockProvider;
  let origin: { url: string; close(): Promise<void> };
  const openTab = tabs();
  beforeAll(async () => {
    mock = await MockProvider.start({ port: 0, clock: new VirtualClock() });
    const page = `<!doctype html><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`;
    const server = createServer(async (request, response) => {
      const path = request.url ?? '';
      if (path === '/') return void response.setHeader('Content-Type', 'text/html').end(page);
      const script = await readFile(`${PACKAGES}${path}`).catch(() => undefined);
      response.writeHead(script ? 200 : 404, { 'Content-Type': 'text/javascript' }).end(script);
    });
    origin = await listeningOn(server);
  });
  afterAll(async () => {
    await origin.close();
    await mock.close();
  });

  /** What a script of that page comes to. */
  async function run<T>(script: string): Promise<T> {
    const { page } = await openTab();
    await page.goto(origin.url);
    return page.evaluate(`(async () => { const url = ${JSON.stringify(mock.url)}; ${script} })()`);
  }

  test('does with masto what a program does, when it has a token: create, list, change, cancel, read errors', async () => {
    const seen = await run(`
      const { createRestAPIClient } = await import('masto');
      const { v1, v2 } = createRestAPIClient({ url, accessToken: 'alice-rw' });
      const text = async (promise) => promise.then(() => 'done', (error) => error.statusCode + ' ' + error.message);
      const file = new Blob(['not really'], { type: 'image/png' });
      const media = await v2.media.create({ file, description: 'a picture', skipPolling: true });
      const requestInit = { headers: { 'Idempotency-Key': 'once' } };
      const draft = { status: 'from a page', mediaIds: [media.id], scheduledAt: '2026-01-02T00:00:00.000Z' };
      const created = await v1.statuses.create(draft, { requestInit });
      const again = await v1.statuses.create(draft, { requestInit });
      await v1.statuses.create({ status: 'another', scheduledAt: '2026-01-03T00:00:00.000Z' });
      const pages = [];
      for await (const page of v1.scheduledStatuses.list({ limit: 1 })) pages.push(page.map(({ id }) => id));
      const one = v1.scheduledStatuses.$select(created.id);
      const changed = await one.update({ scheduledAt: '2026-01-04T00:00:00.000Z' });
      await one.remove();
      const nobody = createRestAPIClient({ url, accessToken: 'nobody' }).v1;
      return {
        same: created.id === again.id,
        pages: pages.flat(),
        changed: changed.scheduledAt,
        gone: await text(one.fetch()),
        refused: await text(nobody.scheduledStatuses.list()),
        tooSoon: await text(v1.statuses.create({ status: 'x', scheduledAt: '2026-01-01T00:01:00.000Z' })),
      };`);
    expect(seen).toEqual({
      same: true,
      pages: ['2', '1'],
      changed: '2026-01-04T00:00:00.000Z',
      gone: '404 Record not found',
      refused: '401 The access token is invalid',
      tooSoon: expect.stringMatching(/^422 Validation failed: Scheduled at/),
    });
  });

  test('reads the headers that clients go by, when it asks with fetch', async () => {
    const headers = await run(`
      const answer = await fetch(url + '/api/v1/instance', { headers: { 'X-Request-Id': 'mine' } });
      return ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id'].map(
        (name) => answer.headers.get(name),
      );`);
    expect(headers).toEqual(['300', expect.stringMatching(/^\d+$/), expect.stringMatching(/^2026-/), 'mine']);
  });

  test('gets nowhere, when it tries the control routes or the webhooks API with the published secret', async () => {
    const webhook = mock.createWebhook({ name: 'mine', webhook_url: 'https://a.example/', events: [] });
    const outcomes = await run(`
      const tries = [
        ['/_mock/reset', { method: 'POST' }],
        ['/_mock/reset', { method: 'POST', mode: 'no-cors' }],
        ['/_mock/deliveries', {}],
        ['/v2/webhooks', { headers: { Authorization: 'mock-api-secret' } }],
        ['/v2/webhooks/${webhook.id}', { method: 'DELETE', headers: { Authorization: 'mock-api-secret' } }],
      ];
      return Promise.all(tries.map(([path, init]) =>
        fetch(url + path, init).then(({ type, status }) => type + ' ' + status, () => 'blocked')));`);
    expect(outcomes).toEqual(['blocked', 'opaque 0', 'blocked', 'blocked', 'blocked']);
    expect(mock.listWebhooks().map(({ id }) => id)).toEqual([webhook.id]);
  });
});
