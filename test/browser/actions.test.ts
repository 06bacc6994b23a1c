import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { type InspectedMock, inspectMock } from '../support/inspected-mock.ts';

describeInBrowser('a reader', () => {
  let inspected: InspectedMock;
  const openTab = tabs();
  beforeAll(async () => {
    inspected = await inspectMock();
  });
  afterAll(() => inspected.dispose());

  const rowsOf = (page: Page): Promise<string[]> =>
    page.locator('tbody tr').evaluateAll((rows) => rows.map(({ id }) => id));

  test('reads on in the list, when events come in: they wait behind a button that says how many', async () => {
    const { page } = await openTab();
    await page.goto(`${inspected.url}/events`);
    await page.waitForSelector('#live:text-is("live")');
    const [before, count] = [await rowsOf(page), await inspected.service.store.queue.count({})];
    const { media_id: id } = inspected.mock.createMedia({ site_id: inspected.site });
    await inspected.quiet();
    const fresh = (await inspected.service.store.queue.count({})) - count;
    await page.waitForSelector(`.fresh:text-is("${fresh} new")`);
    expect(await rowsOf(page)).toEqual(before);
    await page.click('.fresh');
    await page.waitForSelector(`tr:has-text("media:${id}") .status.handled`);
    await page.waitForSelector(`tr:has-text("media:${id}") .status.dead`);
  });

  test('sees a status change in its row, and rows stay that match no more, when the list is open', async () => {
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

  test('sees counts and concerns change, when the overview is open, without doing anything', async () => {
    const { page } = await openTab();
    await page.goto(inspected.url);
    await page.waitForSelector('#live:text-is("live")');
    const dead = 'div:has(> dt:text-is("dead")) .figure';
    const before = Number(await page.textContent(dead));
    const plotted = '#done polyline.well[points]';
    const line = await page.getAttribute(plotted, 'points');
    inspected.mock.createMedia({ site_id: inspected.site });
    await page.waitForSelector(`${dead} a:text-is("${before + 1}")`);
    await eventually('the plot follows', async () => (await page.getAttribute(plotted, 'points')) !== line);
    await page.waitForSelector(`.note.grave:has-text("${before + 1} events are dead")`);
  });

  test('finds events, when status, kind and search narrow the list, and pages on', async () => {
    const { page } = await openTab();
    await page.goto(`${inspected.url}/events`);
    await page.selectOption('select[name=status]', 'dead');
    await page.selectOption('select[name=kind]', 'conversions_complete');
    await page.click('button:text("Filter")');
    await page.waitForURL(/kind=conversions_complete/);
    const dead = await inspected.service.store.queue.count({ status: 'dead', kind: 'conversions_complete' });
    expect(await page.locator('tbody tr').count()).toBe(dead);
    const resource = (await page.textContent('tbody td.id')) ?? '';
    await page.goto(`${inspected.url}/events?q=${resource.slice('media:'.length)}`);
    await page.click(`text=All events of ${resource}`);
    await page.waitForURL(/resource=/);
    expect(new Set(await page.locator('tbody td.id a').allTextContents())).toEqual(new Set([resource]));
    await page.goto('about:blank'); // no list that follows along meanwhile
    for (let n = 0; n < 20; n++) inspected.mock.createMedia({ site_id: inspected.site });
    await inspected.quiet();
    await page.goto(`${inspected.url}/events`);
    const newest = await page.textContent('tbody a');
    await page.click('text=Older events');
    await page.waitForURL(/before=/);
    expect(await page.locator('tbody tr').count()).toBeGreaterThan(0);
    await page.click('text=Back to the newest');
    await page.waitForURL((now) => !now.search.includes('before='));
    expect(await page.textContent('tbody a')).toBe(newest);
  });

  test('dismisses one event and then what matches, when there is no JavaScript, with a note', async () => {
    const { page } = await openTab({ javaScriptEnabled: false });
    const { store } = inspected.service;
    const dead = await store.queue.count({ status: 'dead' });
    const [{ id }] = (await inspected.api('/events?status=dead')).events;
    await page.goto(`${inspected.url}/events/${id}`);
    await page.fill('input[name=reason]', 'the page has gone');
    await page.click('button:text("Dismiss")');
    await page.waitForSelector('main:has-text("Dismissed because the page has gone")');
    await page.goto(`${inspected.url}/events?status=dead`);
    await page.click('text=Dismiss what matches…');
    await page.fill('input[name=reason]', 'and so have these');
    await page.click(`button:text("Dismiss ${dead - 1} events")`);
    await page.waitForURL(/[?&]id=/); // a reload on the way there has no page
    await eventually('all are dismissed', async () => (await store.queue.count({ status: 'dead' })) === 0);
    await page.reload();
    await page.waitForSelector('main:has-text("events were dismissed")');
  });
});
