import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { fail } from '../../src/dispatch/outcome.ts';
import { isOwnHost } from '../../src/inspector/admin-app.ts';
import { guessesOf, sessionsBy } from '../../src/inspector/guard/sign-in.ts';
import { notification } from '../support/genuine.ts';
import { inspect, inspectedForEachTest } from '../support/inspected-service.ts';
import { logLines } from '../support/log-lines.ts';
import { present } from '../support/only.ts';

const TOKEN = 'the-admin-token-of-the-tests';
const READS = 'the-token-of-those-who-read';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ROUTES = '/ /events /channels /api/stats /api/openapi.json /api/stream /metrics /no'.split(' ');

const tokens = { ADMIN_TOKEN: TOKEN, ADMIN_READ_TOKEN: READS };
const inspected = await inspect(
  { media_available: () => fail('broken') },
  { ...tokens, ADMIN_HOST: '0.0.0.0' },
);

const signIn = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  inspected.raw('/sign-in', {
    method: 'POST',
    headers: { ...FORM, ...headers },
    body: new URLSearchParams({ token }).toString(),
  });

async function session(token = TOKEN): Promise<string> {
  const { headers } = await signIn(token);
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

describe('the admin token', () => {
  test.each(ROUTES)('is needed for %s, when a program asks without one, with 401', async (path) => {
    const answer = await inspected.raw(path, { headers: { accept: 'application/json' } });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  test('is asked for on a page, when a reader comes without one, by way of 303', async () => {
    const answer = await inspected.raw('/events', { headers: { accept: 'text/html' } });
    expect(answer).toMatchObject({ status: 303, headers: { location: './sign-in?to=%2Fevents' } });
    expect((await inspected.raw('/sign-in')).body).toContain('Admin token');
  });

  test.each(['', TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), 'ü'.repeat(20)])(
    'is refused, when %j is given instead, as Bearer and on the page, with 401',
    async (token) => {
      expect((await signIn(token)).status).toBe(401);
      if (!/^\w[\w-]*$/.test(token)) return;
      const answer = await inspected.raw('/api/stats', { headers: { authorization: `Bearer ${token}` } });
      expect(answer.status).toBe(401);
    },
  );

  test('leads back to the page that was asked for, when it is right, and to no other host', async () => {
    const to = '/events?kind=media_created&q=%C3%A9';
    const page = await inspected.raw(`/sign-in?${new URLSearchParams({ to })}`);
    expect(page.body).toContain('name="to" value="/events?kind=media_created&amp;q=%C3%A9"');
    const signedIn = (given: string) =>
      inspected.raw('/sign-in', {
        method: 'POST',
        headers: FORM,
        body: new URLSearchParams({ token: TOKEN, to: given }).toString(),
      });
    expect((await signedIn(to)).headers.location).toBe(`.${to}`);
    const evil = [
      '//evil.example',
      '/.//evil.example',
      'https://evil.example/',
      '/\\evil.example',
      '/\t/evil.example',
    ];
    for (const given of [...evil, 'javascript:1', '..//evil.example'])
      expect((await signedIn(given)).headers.location).toMatch(/^\.\/(?![/\\])/);
  });

  test('stands in no log line, cookie, URL or answer, when people sign in, well and badly', async () => {
    const answers = [await signIn(TOKEN), await signIn(`${TOKEN}-wrong`), await inspected.raw('/sign-in')];
    expect(JSON.stringify(answers)).not.toContain(TOKEN);
    expect(inspected.log.lines.join('')).not.toContain(TOKEN);
    expect(inspected.log.withMessage('wrong admin token').length).toBeGreaterThan(0);
  });
});

describe('the token that reads', () => {
  const FORMS = /<form method="post" action="(?!sign-out)|href="events\/(replay|dismiss)\?/;

  test('gets what GET serves, by Bearer and with a session, in pages without buttons', async () => {
    await inspected.deliver(notification());
    await inspected.deliver(notification({ media_id: 'forged' }), 'another-secret');
    await inspected.settled();
    const [cookie, full] = [await session(READS), await session()];
    const { id } = present((await inspected.service.store.queue.search({ limit: 1 })).events[0]);
    const [pages, others] = [
      `/ /events /events/${id} /problems /refused /events/replay /events/dismiss`.split(' '),
      '/channels /webhooks /metrics /api/stats /api/received?after=start'.split(' '),
    ];
    const ask = async (path: string, headers: Readonly<Record<string, string>>) => {
      const { status, body } = await inspected.raw(path, { headers });
      return { path, status, hasButtons: FORMS.test(body) };
    };
    for (const path of [...pages, ...others])
      for (const headers of [{ cookie }, { authorization: `Bearer ${READS}` }])
        expect(await ask(path, headers)).toEqual({ path, status: 200, hasButtons: false });
    for (const path of pages) expect(await ask(path, { cookie: full })).toMatchObject({ hasButtons: true });
  });

  test.each([
    ['POST', '/api/events/replay'],
    ['POST', '/api/pause'],
    ['POST', '/pause'],
    ['POST', '/events/dismiss'],
    ['DELETE', '/api/instances/x'],
    ['PUT', '/app/'],
  ])('changes nothing, when it asks for %s %s, with 403 that names both', async (method, path) => {
    for (const headers of [{ cookie: await session(READS) }, { authorization: `Bearer ${READS}` }]) {
      const { status, body } = await inspected.raw(path, { method, headers });
      expect([status, body]).toEqual([403, expect.stringMatching(/ADMIN_READ_TOKEN.* ADMIN_TOKEN/)]);
    }
    expect((await inspected.service.store.reports.overview()).paused).toBeUndefined();
  });
});

describe('a session', () => {
  test('begins, when the token is given on the page, in an HttpOnly and SameSite=Strict cookie', async () => {
    const answer = await signIn(TOKEN);
    expect(answer).toMatchObject({ status: 303, headers: { location: './' } });
    const cookie = String(answer.headers['set-cookie']);
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Max-Age=43200']) expect(cookie).toContain(part);
    // Without a path, a browser sends it below the path of the page alone.
    for (const part of ['Secure', 'Path']) expect(cookie).not.toContain(part);
    const origin = inspected.url.replace('http:', 'https:');
    const overTls = await signIn(TOKEN, { origin });
    expect(String(overTls.headers['set-cookie'])).toContain('Secure');
  });

  test('lets in, when its cookie comes back, until signing out takes the cookie away', async () => {
    const cookie = await session();
    expect((await inspected.raw('/events', { headers: { cookie } })).status).toBe(200);
    expect((await inspected.raw('/events', { headers: { cookie: `a=b; ${cookie}; c=d` } })).status).toBe(200);
    const left = await inspected.raw('/sign-out', { method: 'POST', headers: { cookie } });
    expect(String(left.headers['set-cookie'])).toMatch(/hookkit_session=;.*Expires=Thu, 01 Jan 1970/);
    // A copy of the cookie is worth nothing.
    for (const path of ROUTES.slice(0, -1)) {
      const headers = { cookie, accept: 'application/json' };
      expect((await inspected.raw(path, { headers })).status).toBe(401);
    }
  });

  test('is refused, when its cookie was changed, made up or is of another start, with 401', async () => {
    const cookie = await session();
    const [name = '', value = ''] = cookie.split('=');
    const foreign = sessionsBy(new VirtualClock(Date.now())).begin('change');
    for (const forged of [
      `${value.slice(0, -2)}AA`,
      `${value}A`,
      value.slice(0, -1),
      'A'.repeat(43),
      `${Date.now() + 1000}.${value}`,
      foreign,
      '',
    ]) {
      const headers = { cookie: `${name}=${forged}`, accept: 'application/json' };
      expect((await inspected.raw('/events', { headers })).status).toBe(401);
    }
  });

  test('goes on, when a thousand others are begun with the token that only reads, of which the newest are kept', () => {
    const sessions = sessionsBy(new VirtualClock());
    const [mine, ...others] = [
      sessions.begin('change'),
      ...Array.from({ length: 1001 }, () => sessions.begin('read')),
    ];
    const rights = [mine, ...others].map((value) => sessions.rightOf(`hookkit_session=${value}`));
    expect(rights).toEqual(['change', undefined, ...Array(1000).fill('read')]);
  });

  test('is over, when twelve hours have passed, whatever the browser still sends', async () => {
    const clock = new VirtualClock();
    const sessions = sessionsBy(clock);
    const cookie = `hookkit_session=${sessions.begin('change')}`;
    await clock.advance(12 * 3_600_000 - 1);
    expect(sessions.rightOf(cookie)).toBe('change');
    await clock.advance(1);
    expect(sessions.rightOf(cookie)).toBeUndefined();
  });
});

const onLoopback = await inspect({}, { ADMIN_NAMES: 'admin.example' });

describe('the Host of a request', () => {
  test.each(['evil.example', 'evil.example:3001', '127.0.0.1.evil.example', '10.0.0.1', '', 'a b', '[::2]'])(
    'is refused on every route, when it is %j and the listener is on loopback, with 421',
    async (host) => {
      for (const path of ['/', '/events', '/metrics', '/api/stats', '/api/stream', '/assets/inspector.css']) {
        // An empty Host cannot be sent by Node's client.
        if (host === '') continue;
        expect((await onLoopback.raw(path, { headers: { host } })).status).toBe(421);
      }
      expect(isOwnHost(host, { ADMIN_HOST: '127.0.0.1', ADMIN_NAMES: [] })).toBe(false);
    },
  );

  test.each(['127.0.0.1', '127.0.0.1:1', 'localhost:3001', 'LOCALHOST', '[::1]:3001', 'admin.example:80'])(
    'is taken, when it is %j, with 200',
    async (host) => {
      expect((await onLoopback.raw('/api/stats', { headers: { host } })).status).toBe(200);
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
    expect((await onLoopback.raw('/api/events/replay', options)).status).toBe(403);
    expect((await onLoopback.raw('/events/replay', options)).status).toBe(403);
  });

  test.each(['/api/stats', '/api/stream', '/metrics', '/'])(
    'of a request for %s is refused, when another site asks for it, with 403',
    async (path) => {
      expect((await onLoopback.raw(path, { headers: { origin: 'http://evil.example' } })).status).toBe(403);
      const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
      expect((await onLoopback.raw(path, { headers: script })).status).toBe(403);
    },
  );
});

test('a page may load nothing but what is ours, when a browser asks, by its policy', async () => {
  const { headers } = await onLoopback.raw('/');
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  expect(headers['cache-control']).toBe('no-store');
});

describe('guesses of the token:', () => {
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

  test('are checked again, when a minute has passed', async () => {
    const clock = new VirtualClock(Date.now());
    const { log, withMessage } = logLines();
    const guess = guessesOf(() => undefined, clock, log);
    for (let round = 0; round < 50; round++) guess('a', 'wrong');
    await clock.advance(60_000);
    guess('a', 'wrong');
    expect(withMessage('wrong admin token')).toMatchObject(Array(11).fill({ source: 'a' }));
  });
});
