import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type MockOptions, MockProvider } from '../../src/mock/index.ts';
import { ask as askAt } from './support/api.ts';
import { useStage } from './support/stage.ts';

const stage = useStage({ rateLimit: 1_000_000 });
const Authorization = 'mock-api-secret';
type Headers = Record<string, string>;

const ask = (method: string, path: string, headers: Headers, url = stage.mock.url) =>
  askAt(`${url}${path}`, method, undefined, headers);

const ROUTES = [
  'GET /_mock/clock',
  'POST /_mock/reset',
  'OPTIONS /_mock/reset',
  'GET /v2/webhooks',
  'POST /v2/webhooks',
];
/** Whether the guarded routes are open to a request: all of them or none. */
async function isOpen(headers: Headers, url?: string): Promise<boolean> {
  const answers = await Promise.all(
    ROUTES.map((route) => {
      const [method = '', path = ''] = route.split(' ');
      return ask(method, path, { Authorization, ...headers }, url);
    }),
  );
  const [first, ...others] = new Set(answers.map(({ status }) => status !== 403));
  expect(others).toEqual([]);
  return first === true;
}
const port = () => new URL(stage.mock.url).port;
const own = () => `127.0.0.1:${port()}`;

describe('the control routes and the webhooks API', () => {
  test.each([
    ['localhost:PORT', 'open'],
    ['127.0.0.1:PORT', 'open'],
    ['[::1]:PORT', 'open'],
    ['127.0.0.1.evil.example:PORT', 'closed'],
    ['evil.example@localhost:PORT', 'closed'],
    ['192.168.1.5:PORT', 'closed'],
    ['localhost', 'closed'],
  ])('for Host %s are %s, to programs and to a page of that very origin', async (template, expected) => {
    const Host = template.replace('PORT', port());
    const page = { Host, Origin: `http://${Host}`, 'Sec-Fetch-Site': 'same-origin' };
    expect([await isOpen({ Host }), await isOpen(page)]).toEqual(Array(2).fill(expected === 'open'));
  });

  test.each(['http://203.0.113.9:PORT', 'http://localhost:3001', 'https://evil.example', 'null'])(
    'are closed, when a page of %j asks, and say why in the form of their other errors',
    async (template) => {
      const headers = { Host: own(), Origin: template.replace('PORT', port()), Authorization };
      expect(await isOpen(headers)).toBe(false);
      const why = expect.stringContaining('pages of other origins');
      const control = await ask('POST', '/_mock/reset', headers);
      expect(control.json).toEqual({ error: why });
      const api = await ask('GET', '/v2/webhooks', headers);
      expect(api.json).toEqual({ errors: [{ code: 'forbidden', description: why }] });
      expect([...control.headers.keys(), ...api.headers.keys()].join()).not.toContain('access-control');
    },
  );
});

describe('a mock beyond loopback', () => {
  let mock: MockProvider | undefined;
  afterEach(() => mock?.close());
  const start = async (options: MockOptions) => {
    mock = await MockProvider.start({ port: 0, ...options });
    return { url: mock.url, port: new URL(mock.url).port };
  };

  test('is open under the very address of this machine that it is reached at, and no other', async () => {
    const addresses = Object.values(networkInterfaces())
      .flatMap((found) => found ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal);
    const { port } = await start({ host: '0.0.0.0' });
    for (const address of ['127.0.0.1', ...addresses.map((one) => one.address)]) {
      const url = `http://${address}:${port}`;
      expect(await isOpen({}, url)).toBe(true);
      expect(await isOpen({ Host: `203.0.113.9:${port}` }, url)).toBe(false);
    }
  });

  test('is open under the names that it was given, on their port or any', async () => {
    const { url, port } = await start({ host: 'localhost', names: ['Mock', 'proxy.example:8443'] });
    for (const Host of [`localhost:${port}`, `mock:${port}`, 'MOCK', 'mock:443', 'proxy.example:8443'])
      expect(await isOpen({ Host, Origin: `https://${Host}` }, url)).toBe(true);
    for (const Host of ['proxy.example', `other:${port}`]) expect(await isOpen({ Host }, url)).toBe(false);
  });
});
