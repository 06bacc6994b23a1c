import { afterAll, beforeAll, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { KitError } from '../../src/base/errors.ts';
import { Breakable } from '../support/breakable-store.ts';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { type InspectedMock, inspectMock } from '../support/inspected-mock.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

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

describeInBrowser('a page', () => {
  let inspected: InspectedMock;
  beforeAll(async () => {
    inspected = await inspectMock();
  });
  afterAll(() => inspected.dispose());

  const pathOf = async (path: string): Promise<string> => {
    if (path.startsWith('/')) return path;
    const kind = path === 'handled' ? '&kind=media_available' : '';
    return `/events/${(await inspected.api(`/events?status=${path}${kind}`)).events[0].id}`;
  };

  test.each(PAGES)('%s keeps to WCAG AA, its policy and width: light, dark, on a phone', async (_, given) => {
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
  });

  test('can be read, whichever it is, when there is no JavaScript', async () => {
    const { page, complaints } = await openTab({ javaScriptEnabled: false });
    for (const [, given] of PAGES) {
      await page.goto(`${inspected.url}${await pathOf(given)}`);
      expect((await page.textContent('main'))?.trim().length).toBeGreaterThan(40);
    }
    expect(complaints).toEqual([]);
  });
});

describeInBrowser('an open page', () => {
  let inspected: Inspected;
  const store = new Breakable();
  beforeAll(async () => {
    inspected = await inspect({}, {}, { wrap: store.wrap });
    await inspected.deliver(notification({ media_id: 'seen' }));
    await inspected.settled();
  });
  afterAll(() => inspected.dispose());

  test('keeps what it shows and says that it is out of date, when the store cannot be reached, until it can', async () => {
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
    expect(await page.textContent('#list')).toContain('media:seen');
    store.failure = undefined;
    await refreshed('live');
    expect(await page.textContent('#list')).toContain('media:seen');
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
  afterAll(() => inspected.dispose());

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
