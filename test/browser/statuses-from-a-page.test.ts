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
});
