import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type MockOptions, MockProvider } from '../../src/mock/index.ts';
import { runs } from '../support/sizes.ts';
import { useStage } from './support/stage.ts';

const stage = useStage({ rateLimit: 1_000_000 });

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** fetch() does not let anybody set Host or Origin. */
function ask(
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
  url = stage.mock.url,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
    sent.on('error', reject).end();
  });
}

const Authorization = 'mock-api-secret';
const ROUTES = [
  ['GET', '/_mock/clock'],
  ['GET', '/_mock/deliveries'],
  ['POST', '/_mock/reset'],
  ['GET', '/v2/webhooks'],
  ['POST', '/v2/webhooks'],
  ['GET', '/v2/webhooks/x'],
  ['OPTIONS', '/_mock/reset'],
  ['OPTIONS', '/v2/webhooks'],
] as const;
const statusesFor = async (headers: Readonly<Record<string, string>>, url = stage.mock.url) =>
  new Set(
    (await Promise.all(ROUTES.map(([method, path]) => ask(path, headers, method, url)))).map(
      ({ status }) => status === 403,
    ),
  );
const refused = new Set([true]);
const taken = new Set([false]);
const port = () => new URL(stage.mock.url).port;

describe('the control routes and the webhooks API', () => {
  test.each(['localhost:PORT', '127.0.0.1:PORT', '[::1]:PORT', 'LOCALHOST:PORT', '127.1.2.3:PORT'])(
    'are open, when Host is %s and a page of that very origin asks, or a program',
    async (template) => {
      const Host = template.replace('PORT', port());
      expect(await statusesFor({ Host, Authorization })).toEqual(taken);
      expect(await statusesFor({ Host, Authorization, Origin: `http://${Host}` })).toEqual(taken);
      expect(await statusesFor({ Host, Authorization, 'Sec-Fetch-Site': 'same-origin' })).toEqual(taken);
    },
  );

  test.each([
    'evil.example:PORT',
    'localhost.evil.example:PORT',
    '127.0.0.1.evil.example:PORT',
    'evil.example@localhost:PORT',
    '203.0.113.9:PORT',
    '192.168.1.5:PORT',
    'app.localhost:PORT',
    '[2001:db8::1]:PORT',
    '127.0.0.1:1',
    'localhost',
    'a b',
  ])('are closed, when Host is %s, to programs and to its own pages, with 403', async (template) => {
    const Host = template.replace('PORT', port());
    expect(await statusesFor({ Host, Authorization })).toEqual(refused);
    expect(await statusesFor({ Host, Authorization, Origin: `http://${Host}` })).toEqual(refused);
  });

  test.each([
    'http://203.0.113.9',
    'http://203.0.113.9:PORT',
    'http://app.localhost:PORT',
    'http://localhost',
    'http://localhost:3001',
    'http://127.0.0.1:1',
    'http://127.0.0.2:PORT',
    'https://evil.example',
    'http://localhost.evil.example:PORT',
    'http://evil.example#127.0.0.1:PORT',
    'null',
    '',
  ])('are closed, when a page of %j asks, with 403 and nothing done', async (template) => {
    const webhook = stage.webhook();
    const Origin = template.replace('PORT', port());
    const Host = `127.0.0.1:${port()}`;
    expect(await statusesFor({ Host, Authorization, Origin })).toEqual(refused);
    expect(stage.mock.listWebhooks()).toEqual([expect.objectContaining({ id: webhook.id })]);
  });

  test('are closed, when a browser says that another site asks, though it sends no Origin, with 403', async () => {
    const Host = `127.0.0.1:${port()}`;
    for (const mode of ['no-cors', 'cors', 'navigate']) {
      const headers = { Host, Authorization, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': mode };
      expect((await ask('/_mock/reset', headers, 'POST')).status).toBe(403);
      expect((await ask('/_mock/deliveries', headers)).status).toBe(mode === 'navigate' ? 200 : 403);
    }
  });

  test('are closed to every Host and Origin, when these are not exactly their own', async () => {
    const part = fc.oneof(
      fc.constantFrom('localhost', '127.0.0.1', '[::1]', '.', ':', '@', '/', '#', 'evil.example', 'http://'),
      fc.integer({ min: 0, max: 65_535 }).map(String),
      fc.constant('PORT'),
      fc.string({ unit: 'grapheme-ascii', maxLength: 5 }),
    );
    const text = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('').trim());
    await fc.assert(
      fc.asyncProperty(text, text, async (host, origin) => {
        const own = new RegExp(`^(localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\]):0*${port()}$`, 'i');
        const Host = host.replaceAll('PORT', port());
        const Origin = origin.replaceAll('PORT', port());
        const good = `127.0.0.1:${port()}`;
        // Node's client puts its own in the place of an empty one.
        if (Host !== '' && !own.test(Host))
          expect((await ask('/_mock/clock', { Host })).status).not.toBe(200);
        if (!/^https?:/.test(Origin) || Origin.replace(/^https?:\/\//, '') !== good) {
          const answer = await ask('/v2/webhooks', { Host: good, Origin, Authorization });
          expect(answer.status).toBe(403);
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('say why, when they refuse, in the form of their other errors, and never open themselves to pages', async () => {
    const headers = { Host: 'evil.example', Origin: 'http://evil.example', Authorization };
    const control = await ask('/_mock/clock', headers);
    expect(JSON.parse(control.body)).toEqual({ error: expect.stringContaining('--name') });
    const api = await ask('/v2/webhooks', headers);
    expect(JSON.parse(api.body)).toEqual({
      errors: [{ code: 'forbidden', description: expect.stringContaining('--name') }],
    });
    expect(api.headers['jw-request-remaining']).toBe('1000000');
    const asked = { Host: `127.0.0.1:${port()}`, Authorization, 'Access-Control-Request-Method': 'POST' };
    for (const [method, path] of ROUTES) {
      const answer = await ask(path, { ...asked, Origin: 'http://evil.example' }, method);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('do not count a refused request, when a page sends as many as it likes, against the rate limit', async () => {
    const Host = `127.0.0.1:${port()}`;
    const before = await ask('/v2/webhooks', { Host, Authorization });
    for (let round = 0; round < 3; round++) {
      await ask('/v2/webhooks', { Host, Authorization, Origin: 'http://evil.example' });
    }
    const after = await ask('/v2/webhooks', { Host, Authorization });
    expect(Number(before.headers['jw-request-remaining'])).toBe(
      Number(after.headers['jw-request-remaining']) + 1,
    );
  });
});

describe('a mock beyond loopback', () => {
  let mock: MockProvider | undefined;
  afterEach(() => mock?.close());
  const start = async (options: MockOptions) => {
    mock = await MockProvider.start({ port: 0, ...options });
    return { url: mock.url, port: new URL(mock.url).port };
  };

  const addresses = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
  test('is open, when it is asked for by the very address of this machine that it is reached at, and by no other', async () => {
    for (const host of ['0.0.0.0', '::']) {
      const { port } = await start({ host });
      for (const address of ['127.0.0.1', ...addresses]) {
        const url = `http://${address}:${port}`;
        expect(await statusesFor({ Authorization }, url)).toEqual(taken);
        expect(await statusesFor({ Host: `203.0.113.9:${port}`, Authorization }, url)).toEqual(refused);
      }
      await mock?.close();
    }
  });

  test('is open, when it is asked for by a name that it was given, on its port or any other', async () => {
    const { url, port } = await start({ names: ['Mock', 'mock.example', 'proxy.example:8443'] });
    for (const Host of [`mock:${port}`, 'MOCK.example', 'mock.example:443', 'proxy.example:8443']) {
      expect(await statusesFor({ Host, Authorization }, url)).toEqual(taken);
      expect(await statusesFor({ Host, Authorization, Origin: `https://${Host}` }, url)).toEqual(taken);
    }
    for (const Host of ['proxy.example', `proxy.example:${port}`, `other:${port}`]) {
      expect(await statusesFor({ Host, Authorization }, url)).toEqual(refused);
    }
  });

  test('is open, when it is asked for by the name that it listens on', async () => {
    const { url, port } = await start({ host: 'localhost' });
    expect(await statusesFor({ Host: `localhost:${port}`, Authorization }, url)).toEqual(taken);
  });
});
