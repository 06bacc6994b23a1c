import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { isOwnHost } from '../../src/inspector/admin-app.ts';
import { guessesOf } from '../../src/inspector/guard/sign-in.ts';
import { inspect, inspectedForEachTest } from '../support/inspected-service.ts';
import { logLines } from '../support/log-lines.ts';

const inspected = await inspect({}, { ADMIN_NAMES: 'admin.example' });

describe('the Host of a request', () => {
  test.each(['evil.example', 'evil.example:3001', '127.0.0.1.evil.example', '10.0.0.1', '', 'a b', '[::2]'])(
    'is refused on every route, when it is %j and the listener is on loopback, with 421',
    async (host) => {
      for (const path of ['/', '/events', '/metrics', '/api/stats', '/api/stream', '/assets/inspector.css']) {
        // An empty Host cannot be sent by Node's client.
        if (host === '') continue;
        expect((await inspected.raw(path, { headers: { host } })).status).toBe(421);
      }
      expect(isOwnHost(host, { ADMIN_HOST: '127.0.0.1', ADMIN_NAMES: [] })).toBe(false);
    },
  );

  test.each(['127.0.0.1', '127.0.0.1:1', 'localhost:3001', 'LOCALHOST', '[::1]:3001', 'admin.example:80'])(
    'is taken, when it is %j, with 200',
    async (host) => {
      expect((await inspected.raw('/api/stats', { headers: { host } })).status).toBe(200);
    },
  );
});

describe('the origin of a request', () => {
  test.each([
    ['a foreign Origin', { origin: 'https://evil.example' }],
    ['the Origin of a sandbox', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['another site, where the browser sends no Origin', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour on the same site', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }],
  ])('of a replay is refused, when it is %s, with 403 and nothing replayed', async (_what, headers) => {
    const body = JSON.stringify({ all: true });
    const options = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
    expect((await inspected.raw('/api/events/replay', options)).status).toBe(403);
    expect((await inspected.raw('/events/replay', options)).status).toBe(403);
  });

  test.each(['/api/stats', '/api/stream', '/metrics', '/'])(
    'of a request for %s is refused, when another site asks for it, with 403',
    async (path) => {
      expect((await inspected.raw(path, { headers: { origin: 'http://evil.example' } })).status).toBe(403);
      const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
      expect((await inspected.raw(path, { headers: script })).status).toBe(403);
    },
  );
});

test('a page may load nothing but what is ours, when a browser asks, by its policy', async () => {
  const { headers } = await inspected.raw('/');
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  expect(headers['cache-control']).toBe('no-store');
});

describe('guesses of the token:', () => {
  const TOKEN = 'the-admin-token-of-the-tests';
  const start = inspectedForEachTest();

  /** A listener whose visitors are told apart by what their proxy says. */
  async function guarded() {
    const inspected = await start({}, { ADMIN_TOKEN: TOKEN, ADMIN_TRUST_PROXY: '1' });
    const bearer = (token: string, source = '192.0.2.1') =>
      inspected.raw('/api/stats', {
        headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': source },
      });
    const signIn = (token: string, source = '192.0.2.1') =>
      inspected.raw('/sign-in', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': source },
        body: new URLSearchParams({ token }).toString(),
      });
    return { inspected, bearer, signIn };
  }

  describe('the right token', () => {
    test.each(['bearer', 'signIn'] as const)(
      'is refused like any other, when its source had 10 wrong ones within a minute, by %s, with 429',
      async (way) => {
        const { inspected, ...ways } = await guarded();
        for (let round = 0; round < 10; round++) expect((await ways[way](`wrong-${round}`)).status).toBe(401);
        for (const right of [ways.bearer(TOKEN), ways.signIn(TOKEN)]) {
          const answer = await right;
          expect(answer.status).toBe(429);
          expect(Number(answer.headers['retry-after'])).toBeGreaterThan(50);
          expect(answer.headers['set-cookie']).toBeUndefined();
        }
        expect((await ways.bearer('wrong')).body).toBe((await ways.bearer(TOKEN)).body);
        expect((await ways.signIn(TOKEN, '192.0.2.2')).status).toBe(303);
        expect(inspected.log.withMessage('wrong admin token')).toHaveLength(10);
      },
    );

    test('stays out, when 100 were wrong in all, of which 10 a source are checked, from whatever new source it comes, with 429', async () => {
      const { bearer, signIn } = await guarded();
      expect((await bearer(TOKEN, '198.51.100.1')).status).toBe(200); // a scraper that is known by now
      const guesses = Array.from({ length: 10 }, (_, host) =>
        Array.from({ length: 12 }, () => bearer('wrong', `203.0.113.${host}`)),
      ).flat();
      const statuses = (await Promise.all(guesses)).map(({ status }) => status);
      expect(statuses.toSorted()).toEqual([...Array(100).fill(401), ...Array(20).fill(429)]);
      expect((await bearer(TOKEN, '192.0.2.9')).status).toBe(429);
      expect((await signIn(TOKEN, '192.0.2.9')).status).toBe(429);
      expect((await bearer(TOKEN, '198.51.100.1')).status).toBe(200);
      for (let round = 0; round < 10; round++) await bearer('wrong', '198.51.100.1');
      expect((await bearer(TOKEN, '198.51.100.1')).status).toBe(429);
    });

    test('is not needed, when there is a session, whatever is guessed from its source, with 200', async () => {
      const { inspected, bearer, signIn } = await guarded();
      const { headers } = await signIn(TOKEN);
      const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
      for (let round = 0; round < 12; round++) await bearer('wrong');
      const answer = await inspected.raw('/events', { headers: { cookie, 'x-forwarded-for': '192.0.2.1' } });
      expect(answer.status).toBe(200);
    });

    test('is looked for by address, when nothing says that a proxy is to be believed, whatever X-Forwarded-For says', async () => {
      const inspected = await start({}, { ADMIN_TOKEN: TOKEN });
      const ask = (token: string, source: number) =>
        inspected.raw('/metrics', {
          headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': `192.0.2.${source}` },
        });
      for (let round = 0; round < 10; round++) await ask('wrong', round);
      expect((await ask(TOKEN, 99)).status).toBe(429);
    });
  });

  test('each that is checked is in the log, with its source, and those over the limit are not', async () => {
    const clock = new VirtualClock(Date.now());
    const { log, withMessage } = logLines();
    const guess = guessesOf(() => undefined, clock, log);
    const told = () => withMessage('wrong admin token').map(({ source }) => source);
    for (let round = 0; round < 50; round++) guess('a', 'wrong');
    for (let source = 0; source < 500; source++) guess(`source ${source}`, 'wrong');
    const others = Array.from({ length: 90 }, (_, source) => `source ${source}`);
    expect(told()).toEqual([...Array(10).fill('a'), ...others]);
    await clock.advance(60_000);
    guess('a', 'wrong');
    expect(told().slice(100)).toEqual(['a']);
  });
});
