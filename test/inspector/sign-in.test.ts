import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { fail } from '../../src/dispatch/outcome.ts';
import { sessionsBy } from '../../src/inspector/guard/sign-in.ts';
import { notification } from '../support/genuine.ts';
import { inspect } from '../support/inspected-service.ts';
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
    const { id } = present(
      (await inspected.service.store.queue.search({ filter: {}, stretch: { limit: 1 } })).events[0],
    );
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
