import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import { defineApp } from '../../src/index.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { notification, PATH } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { refusalIn, runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const inspect = inspectedForEachTest();
const APP = fileURLToPath(new URL('../support/app-with-settings.ts', import.meta.url));
const TOKEN = 'an-admin-token-of-the-tests';

/** The service with an app, as `loadApp` makes it ready. */
function serve(app: unknown, env: Readonly<Record<string, string>> = {}) {
  return inspect({}, env, { app: app as ReadyApp });
}

const withPages = defineApp({
  handlers: {},
  routes(router) {
    router.get('/hello', (_req, res) => void res.send('hello'));
    router.post('/change', (_req, res) => void res.send('changed'));
    router.get('/broken', () => {
      throw new Error('the page of our own is broken');
    });
    router.get('/late', async () => {
      await setImmediate();
      throw new Error('the page breaks later');
    });
  },
});

test('handlers share what start opened, and it is closed after the last of them, at a stop', async () => {
  const told: string[] = [];
  const app = defineApp({
    settings: z.object({ CRM_URL: z.url() }),
    async start({ settings, log, signal }) {
      log.info('starting the app');
      signal.addEventListener('abort', () => told.push('aborted'));
      return {
        app: { post: (what: string) => told.push(`${what} to ${settings.CRM_URL}`) },
        close: () => void told.push('closed'),
      };
    },
    handlers: {
      async media_available(event, ctx) {
        ctx.app.post(event.media_id);
        ctx.signal.addEventListener('abort', () => told.push('the handler was told to stop'));
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        await setImmediate();
        told.push('the handler ended');
      },
    },
  });
  const { deliver, service, log } = await serve({ ...app, settings: { CRM_URL: 'https://crm.test' } });
  expect((await deliver(notification())).status).toBe(200);
  await eventually('the handler runs', () => told.length > 0);
  await service.stop();
  expect(told).toEqual([
    'UUhbHm6C to https://crm.test',
    'the handler was told to stop',
    'the handler ended',
    'aborted',
    'closed',
  ]);
  expect(log.withMessage('starting the app')).toHaveLength(1);
});

test.each([
  [
    'throws',
    () => Promise.reject(new Error('no database')),
    /^the start of the app failed: Error: no database\n.*app\.test\.ts/,
  ],
  [
    'returns what it has opened, and not as app',
    () => ({ crm: 1 }),
    /^the start of the app failed: TypeError: it returned \{ crm: 1 \}, and must return/,
  ],
])('nothing listens, when start %s', async (_, start, message) => {
  let listening = false;
  const routes = () => {
    listening = true;
  };
  const app = { handlers: {}, start, routes };
  await expect(serve(app)).rejects.toMatchObject({
    code: 'APP_FAILED',
    message: expect.stringMatching(message),
  });
  expect(listening).toBe(false);
});

test('nothing listens, when routes throws, and what start opened is closed', async () => {
  const told: string[] = [];
  const app = defineApp({
    start: () => ({ app: 1, close: () => void told.push('closed') }),
    handlers: {},
    routes() {
      throw new Error('no such view');
    },
  });
  await expect(serve(app)).rejects.toThrow('the routes of the app failed: Error: no such view');
  expect(told).toEqual(['closed']);
});

test('pages of an app are below /app/ of the admin listener, and nowhere on the public one', async () => {
  const { url, service } = await serve(withPages);
  const page = await fetch(`${url}/app/hello`);
  expect([page.status, await page.text(), page.headers.get('cache-control')]).toEqual([
    200,
    'hello',
    'no-store',
  ]);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect((await fetch(`${url}/app/none`)).status).toBe(404);
  expect((await fetch(`${url}/hello`)).status).toBe(404);
  for (const path of ['/app/hello', '/hello', `${PATH}/app/hello`])
    expect((await fetch(`http://127.0.0.1:${service.port}${path}`)).status).toBe(404);
});

test('pages of an app are behind the guard of the admin listener: token, host and origin', async () => {
  const { url, raw } = await serve(withPages, { ADMIN_TOKEN: TOKEN });
  expect((await fetch(`${url}/app/hello`)).status).toBe(401);
  const authorization = `Bearer ${TOKEN}`;
  expect((await fetch(`${url}/app/hello`, { headers: { authorization } })).status).toBe(200);
  const asked = (headers: Record<string, string>, method = 'GET') =>
    raw(method === 'GET' ? '/app/hello' : '/app/change', { method, headers: { authorization, ...headers } });
  expect((await asked({ host: 'evil.example' })).status).toBe(421);
  expect((await asked({ origin: 'https://evil.example' }, 'POST')).status).toBe(403);
  expect((await asked({}, 'POST')).status).toBe(200);
});

test('a page that throws, at once or later, is answered with 500, and logged with its place in the file', async () => {
  const { url, log } = await serve(withPages);
  for (const [path, message] of [
    ['/app/broken', 'the page of our own is broken'],
    ['/app/late', 'the page breaks later'],
  ] as const) {
    const answer = await fetch(url + path);
    expect([answer.status, await answer.text()]).toEqual([500, 'internal error; see the log\n']);
    expect(log.withMessage('admin request failed').at(-1)).toMatchObject({
      path,
      error: expect.stringMatching(new RegExp(`^Error: ${message}\\n.*app\\.test\\.ts`)),
    });
  }
});

test('pages get what forms and JSON have sent, and no more than 16 KB of it', async () => {
  const app = defineApp({
    handlers: {},
    routes(router) {
      router.post('/echo', (req, res) => void res.json(req.body));
    },
  });
  const { url } = await serve(app);
  const post = (type: string, body: string) =>
    fetch(`${url}/app/echo`, { method: 'POST', headers: { 'Content-Type': type }, body });
  expect(await (await post('application/x-www-form-urlencoded', 'a=1&b=%3C')).json()).toEqual({
    a: '1',
    b: '<',
  });
  expect(await (await post('application/json', '{"a":[1]}')).json()).toEqual({ a: [1] });
  expect((await post('application/json', '{')).status).toBe(400);
  expect((await post('application/json', JSON.stringify('x'.repeat(20_000)))).status).toBe(413);
});

test('the inspector links to /app/, which leads to the first page, unless the app has a page of its own there', async () => {
  const { url } = await serve(withPages);
  const first = await fetch(`${url}/app/`);
  expect([first.url, await first.text()]).toEqual([`${url}/app/hello`, 'hello']);
  expect(await (await fetch(url)).text()).toContain('href="app/"');
  const own = defineApp({
    handlers: {},
    routes: (router) => void router.get('/', (_req, res) => void res.send('mine')),
  });
  expect(await (await fetch(`${(await serve(own)).url}/app/`)).text()).toBe('mine');
  expect(await (await fetch((await serve({ handlers: {} })).url)).text()).not.toContain('href="app/"');
});

const commands = ['serve', 'handlers try --kind media_created --media 1'];
test.each(commands)('hookkit %s names each wrong setting, shows none, and ends with 2', async (command) => {
  const env = { HANDLERS: APP, CRM_TOKEN: 'not-long' };
  const run = await runCli(command.split(' '), { env });
  expect(run.code).toBe(2);
  const told = command === 'serve' ? refusalIn(run) : run.stderr;
  expect(told).toMatch(
    /^(hookkit: )?the environment.* has 2 mistakes:\n {2}CRM_URL: is not set\n {2}CRM_TOKEN: Too small: expected string to have >=16 characters\n?$/,
  );
  expect(told).not.toContain('not-long');
});

describe('commands that run handlers', () => {
  const desk = deskForEachTest();
  const env = {
    HANDLERS: APP,
    CRM_URL: 'https://crm.test',
    CRM_TOKEN: 'a token that is long enough',
    CRM_PAGE_SIZE: '7',
    LOG_LEVEL: 'info',
  };

  test('start the app, and end with it, when an event is tried and when events are replayed', async () => {
    const store = await desk().store();
    await store.queue.record(verified({ event: 'media_created', media_id: 'UUhbHm6C' }));
    const replayed = await desk().events(['replay', '--all', '--run'], { env });
    expect(replayed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^handled +1$/m) });
    expect(replayed.stderr).toContain('"size":7,"left":{}');
    expect(replayed.stderr).toContain('the CRM is closed');
    const one = ['--kind', 'media_created', '--media', 'UUhbHm6C'];
    const tried = await runCli(['handlers', 'try', ...one], { env: { ...desk().env, ...env } });
    expect(tried).toMatchObject({ code: 0, stdout: expect.stringMatching(/^outcome +handled$/m) });
    expect(tried.stderr).toContain('"size":7,"left":{"size":7}');
    expect(tried.stderr).toContain('the CRM is closed');
  });
});

test('a close that fails is logged, and does not keep the rest from ending', async () => {
  const close = () => Promise.reject(new Error('still in use'));
  const { service, log } = await serve(defineApp({ start: () => ({ app: 1, close }), handlers: {} }));
  await service.stop();
  const error = expect.stringMatching(/^Error: still in use\n.*app\.test\.ts/);
  expect(log.withMessage('the close of the app failed')).toMatchObject([{ error }]);
});
