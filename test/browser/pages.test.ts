import { afterAll, beforeAll, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { KitError } from '../../src/base/errors.ts';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { skip } from '../../src/dispatch/outcome.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { Breakable } from '../support/breakable-store.ts';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { notification, PATH } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { startProxy } from '../support/proxy.ts';

/** In such an order that some of them are unlike each other. */
const PAGES = [
  ['Overview', '/'],
  ['Channels', '/channels'],
  ['Refused', '/refused'],
  ['Problems', '/problems'],
  ['Reminders', '/reminders'],
  ['Event, dead', 'dead'],
  ['Events', '/events'],
  ['Events, searched in vain', '/events?q=nothing-has-this'],
  ['Event, handled', 'handled'],
  ['Replay', '/events/replay?status=dead'],
  ['Dismiss', '/events/dismiss?status=dead'],
  ['Webhooks', '/webhooks'],
  ['Changes', '/changes'],
] as const;

const openTab = tabs();

const SITE = 'site0001';
const OF_ALL = { events: [...kindNames], site_ids: [SITE] };

/** Handlers of which some fail, skip or do a step. */
const mixedHandlers = defineHandlers({
  async media_available(event, ctx) {
    await ctx.once('publish', () => ({ page: `https://example.com/${event.media_id}` }));
  },
  media_created() {},
  thumbnail_created: () => skip('thumbnails are made elsewhere'),
  conversions_complete() {
    throw new Error('the page is not there');
  },
  channel_active() {},
  channel_idle() {},
});

describeInBrowser('the inspector', () => {
  let inspected: Inspected;
  let mock: MockProvider;
  const store = new Breakable();
  /** Resolves once all that was sent has come to its end. */
  const quiet = async (): Promise<void> => {
    await mock.settled();
    await inspected.settled();
  };
  // The life of some media and two channels, something refused, and something in quarantine.
  beforeAll(async () => {
    inspected = await inspect(mixedHandlers, {}, { wrap: store.wrap });
    mock = await MockProvider.start({ port: 0, seed: 11, processingMs: 1, maxAttempts: 1 });
    const webhook_url = `${inspected.service.url}${PATH}`;
    const { id, secret } = mock.createWebhook({ name: 'inspected', webhook_url, ...OF_ALL });
    await inspected.service.store.secrets.add(id, secret);
    for (let n = 0; n < 3; n++) mock.createMedia({ site_id: SITE });
    for (let n = 0; n < 2; n++) mock.activateChannel(mock.createChannel({ site_id: SITE }).channel_id);
    await quiet();
    for (const faults of [{ tamper: 1 }, { tamper: 0, wrong_secret: 1 }]) {
      mock.setFaults(faults);
      mock.createChannel({ site_id: SITE });
    }
    await quiet();
    mock.setFaults({ wrong_secret: 0 });
  });
  afterAll(() => mock.close());

  const pathOf = async (path: string): Promise<string> => {
    if (path.startsWith('/')) return path;
    const kind = path === 'handled' ? '&kind=media_available' : '';
    return `/events/${(await inspected.api(`/events?status=${path}${kind}`)).events[0].id}`;
  };

  test.each(PAGES)(
    'page %s keeps to WCAG AA, its policy and width: light, dark, on a phone',
    async (_, given) => {
      const { page, complaints } = await openTab();
      await page.goto(`${inspected.url}${await pathOf(given)}`);
      await page.waitForSelector('#live:text-is("live")');
      for (const { colorScheme, ...viewport } of [
        { colorScheme: 'light', width: 1280, height: 800 },
        { colorScheme: 'dark', width: 1280, height: 800 },
        { colorScheme: 'light', width: 360, height: 740 },
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(viewport);
        expect(await violations(page)).toEqual([]);
        expect(complaints).toEqual([]);
        await expectOwnWidth(page);
      }
    },
  );

  test('every page can be read, when there is no JavaScript', async () => {
    const { page, complaints } = await openTab({ javaScriptEnabled: false });
    for (const [, given] of PAGES) {
      await page.goto(`${inspected.url}${await pathOf(given)}`);
      expect((await page.textContent('main'))?.trim().length).toBeGreaterThan(40);
    }
    expect(complaints).toEqual([]);
  });

  const rowsOf = (page: Page): Promise<string[]> =>
    page.locator('tbody tr').evaluateAll((rows) => rows.map(({ id }) => id));

  test('a reader reads on in the list, when events come in: they wait behind a button that says how many', async () => {
    const { page } = await openTab();
    await page.goto(`${inspected.url}/events`);
    await page.waitForSelector('#live:text-is("live")');
    const [before, count] = [await rowsOf(page), await inspected.service.store.queue.count({})];
    const { media_id: id } = mock.createMedia({ site_id: SITE });
    await quiet();
    const fresh = (await inspected.service.store.queue.count({})) - count;
    await page.waitForSelector(`.fresh:text-is("${fresh} new")`);
    expect(await rowsOf(page)).toEqual(before);
    await page.click('.fresh');
    await page.waitForSelector(`tr:has-text("media:${id}") .status.handled`);
    await page.waitForSelector(`tr:has-text("media:${id}") .status.dead`);
  });

  test('a reader sees a status change in its row, and rows stay that match no more, when the list is open', async () => {
    const { page } = await openTab();
    for (const [path, end] of [
      ['/events', '.status.dismissed'],
      ['/events?status=dead', '.status.dead'],
    ] as const) {
      await page.goto(`${inspected.url}${path}`);
      await page.waitForSelector('#live:text-is("live")');
      const before = await rowsOf(page);
      const [{ id }] = (await inspected.api('/events?status=dead')).events;
      await inspected.service.store.queue.dismiss({ ids: [id] }, 'seen');
      await page.waitForSelector(`tr[id="${id}"]${path === '/events' ? '' : '.gone'} ${end}`);
      expect(await rowsOf(page)).toEqual(before);
    }
  });

  test('a reader sees counts and concerns change, when the overview is open, without doing anything', async () => {
    const { page } = await openTab();
    await page.goto(inspected.url);
    await page.waitForSelector('#live:text-is("live")');
    const dead = 'div:has(> dt:text-is("dead")) .figure';
    const before = Number(await page.textContent(dead));
    const plotted = '#done polyline.well[points]';
    const line = await page.getAttribute(plotted, 'points');
    mock.createMedia({ site_id: SITE });
    await page.waitForSelector(`${dead} a:text-is("${before + 1}")`);
    await eventually('the plot follows', async () => (await page.getAttribute(plotted, 'points')) !== line);
    await page.waitForSelector(`.note.grave:has-text("${before + 1} events are dead")`);
  });

  test('a reader pages on in the list, and back to the newest', async () => {
    const { page } = await openTab();
    await page.goto('about:blank'); // no list that follows along meanwhile
    for (let n = 0; n < 20; n++) mock.createMedia({ site_id: SITE });
    await quiet();
    await page.goto(`${inspected.url}/events`);
    const newest = await page.textContent('tbody a');
    await page.click('text=Older events');
    await page.waitForURL(/before=/);
    expect(await page.locator('tbody tr').count()).toBeGreaterThan(0);
    await page.click('text=Back to the newest');
    await page.waitForURL((now) => !now.search.includes('before='));
    expect(await page.textContent('tbody a')).toBe(newest);
  });

  test('a reader dismisses one event and then what matches, when there is no JavaScript, with a note', async () => {
    const { page } = await openTab({ javaScriptEnabled: false });
    const { store } = inspected.service;
    const dead = await store.queue.count({ status: 'dead' });
    const [{ id }] = (await inspected.api('/events?status=dead')).events;
    await page.goto(`${inspected.url}/events/${id}`);
    await page.fill('input[name=reason]', 'the page has gone');
    await page.click('button:text("Dismiss")');
    await page.waitForSelector('main:has-text("Dismissed because the page has gone")');
    await page.goto(`${inspected.url}/events?status=dead`);
    await page.click('text=Dismiss all matching…');
    await page.fill('input[name=reason]', 'and so have these');
    await page.click(`button:text("Dismiss ${dead - 1} events")`);
    await page.waitForURL(/[?&]id=/); // a reload on the way there has no page
    await eventually('all are dismissed', async () => (await store.queue.count({ status: 'dead' })) === 0);
    await page.reload();
    await page.waitForSelector('main:has-text("events were dismissed")');
  });

  test('an open page keeps what it shows and says that it is out of date, when the store cannot be reached, until it can', async () => {
    const { page } = await openTab();
    await page.goto(`${inspected.url}/events`);
    await page.waitForSelector('#live:text-is("live")');
    /** Has the list refreshed, which happens once a second at most, until the sign says so. */
    const refreshed = (text: string) =>
      eventually(`the page says ${text}`, async () => {
        await page.evaluate("document.body.dispatchEvent(new Event('changes'))");
        return (await page.textContent('#live')) === text;
      });
    store.failure = new KitError('STORE_UNAVAILABLE', 'the disk is away');
    await refreshed('out of date');
    expect(await page.textContent('#list')).toContain('media:');
    store.failure = undefined;
    await refreshed('live');
    expect(await page.textContent('#list')).toContain('media:');
  });
});

const EARLY = 'media:early';
const LATE = 'media:late';
const KOLKATA = { timezoneId: 'Asia/Kolkata', locale: 'en-GB' };

describeInBrowser('the times of a list and of its filters', () => {
  let inspected: Inspected;
  beforeAll(async () => {
    inspected = await inspect({ media_available() {} });
    await inspected.deliver(notification({ media_id: 'early', event_time: '2026-01-01T10:00:00+00:00' }));
    await inspected.deliver(notification({ media_id: 'late', event_time: '2026-01-01T11:00:00+00:00' }));
    await inspected.settled();
  });

  const resourcesOn = (page: Page) => page.locator('tbody td.id a').allTextContents();
  const labelOf = (page: Page) => page.textContent('label:has([name=since])');
  /** Filters by the form. */
  const since = async (page: Page, time: string) => {
    await page.goto(`${inspected.url}/events`);
    expect(await resourcesOn(page)).toEqual([LATE, EARLY]);
    await page.click('summary:text("More filters")');
    await page.fill('input[name=since]', time);
    await page.click('button:text("Filter")');
    await page.waitForURL(/since=2026/);
    expect(await resourcesOn(page)).toEqual([LATE]);
  };

  test('are in the zone of the reader, which the form names, and stay so on the page that comes', async () => {
    const { page, complaints } = await openTab(KOLKATA);
    await since(page, '2026-01-01T16:00'); // 10:30 in UTC
    for (const again of [() => page.reload(), undefined]) {
      expect(new URL(page.url()).searchParams.get('since')).toBe('2026-01-01T10:30:00.000Z');
      expect(await page.inputValue('input[name=since]')).toMatch(/^2026-01-01T16:00/);
      expect(await page.inputValue('input[name=until]')).toBe('');
      expect(await labelOf(page)).toMatch(/Asia.(Kolkata|Calcutta)/);
      const received = await page.getAttribute('td:nth-child(5) time', 'datetime');
      const local = new Date(received ?? '').toLocaleTimeString('en-GB', { timeZone: 'Asia/Kolkata' });
      expect(await page.textContent('td:nth-child(5)')).toContain(local);
      await again?.();
    }
    // The page that comes has the URL of the one before.
    await Promise.all([page.waitForEvent('load'), page.click('button:text("Filter")')]);
    expect(await page.inputValue('input[name=since]')).toMatch(/^2026-01-01T16:00/);
    expect(await resourcesOn(page)).toEqual([LATE]);
    expect(complaints).toEqual([]);
  });

  test('are UTC, and the page says so, when there is no JavaScript', async () => {
    const { page } = await openTab({ ...KOLKATA, javaScriptEnabled: false });
    await since(page, '2026-01-01T10:30');
    expect(await page.textContent('td:nth-child(5)')).toContain(' UTC');
    expect(await labelOf(page)).toContain('UTC');
    expect(await page.inputValue('input[name=since]')).toMatch(/^2026-01-01T10:30/);
  });
});

const TOKEN = 'the-admin-token-of-the-tests';

describeInBrowser('the inspector below the path of a proxy', () => {
  let inspected: Inspected;
  let proxied: Awaited<ReturnType<typeof startProxy>>;
  beforeAll(async () => {
    const fail = () => {
      throw new Error('the page is not there');
    };
    inspected = await inspect({ media_available: fail, media_created() {} }, { ADMIN_TOKEN: TOKEN });
    await inspected.deliver(notification({ media_id: 'one' }));
    await inspected.settled();
    proxied = await startProxy(inspected.url, { path: '/hooks' });
  });
  afterAll(async () => {
    await proxied.close();
  });

  test('works as at the root, when a reader signs in, follows links, replays, follows along and leaves', async () => {
    const { url } = proxied;
    const { page, complaints } = await openTab();
    const lost: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 404 || !response.url().startsWith(`${url}/`)) lost.push(response.url());
    });
    const isAt = (path: string) => page.waitForURL(({ href }) => href === `${url}${path}`);
    await page.goto(`${url}/events?status=dead`);
    await isAt('/sign-in?to=%2Fevents%3Fstatus%3Ddead');
    await page.fill('#token', 'a-wrong-token-of-16');
    await page.click('button:text("Sign in")');
    await page.waitForSelector('main:has-text("That is not the token")');
    await page.fill('#token', TOKEN);
    await page.click('button:text("Sign in")');
    await isAt('/events?status=dead');
    expect(await page.context().cookies()).toMatchObject([{ name: 'hookkit_session', path: '/hooks' }]);
    await page.click('tbody a');
    await page.waitForURL(/\/hooks\/events\/[^/]+$/);
    await page.waitForSelector('#live:text-is("live")');
    await page.click('button:text("Replay")');
    await page.waitForSelector('text=attempt 3 of replay 1'); // the page has asked for itself again
    expect(page.url()).toMatch(/\/hooks\/events\/[^/]+$/);
    await page.click('a:text("media:one")');
    await isAt('/events?resource=media%3Aone');
    await page.click('text=Events');
    await page.click('text=Replay all…');
    await page.click('button:text("Replay 1 event")');
    await page.waitForSelector('text=1 event was reset to pending');
    await page.click('text=Back to the events');
    await isAt('/events');
    for (const name of ['Problems', 'Channels', 'Refused', 'Webhooks', 'Overview']) {
      await page.click(`nav[aria-label=Pages] >> text=${name}`);
      await page.waitForSelector(`nav[aria-label=Pages] [aria-current]:has-text("${name}")`);
      expect(await page.title()).toContain(name);
    }
    await page.waitForSelector('#in svg');
    await page.press('text=Skip to content', 'Enter');
    await isAt('/#main');
    await page.click('button:text("Sign out")');
    await isAt('/sign-in');
    // The browser itself reports the 401 of the wrong token.
    const others = complaints.filter((complaint) => !complaint.includes('401'));
    expect({ lost, others }).toEqual({ lost: [], others: [] });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const { servers } = await inspected.api('/openapi.json', { headers });
    expect(new URL(servers[0].url, `${url}/api/openapi.json`).href).toBe(`${url}/`);
  });
});

/** Once the page has its layout, it is as wide as its window. */
async function expectOwnWidth(page: Page): Promise<void> {
  // Not by page.waitForFunction: what it asks for again and again is bound by the page's policy.
  const excess = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  await eventually('the page is as wide as its window', async () => (await excess()) === 0);
}

/** What axe finds, in words. Scripts run this way are not bound by the page's policy. */
async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  // Only what is wrong is described: to describe the rest takes longer than to find it.
  const found = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as axe.AxeResults;
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}
