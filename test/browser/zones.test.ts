import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

const EARLY = 'media:early';
const LATE = 'media:late';
const KOLKATA = { timezoneId: 'Asia/Kolkata', locale: 'en-GB' };

describeInBrowser('the times of a list and of its filters', () => {
  let inspected: Inspected;
  const openTab = tabs();
  beforeAll(async () => {
    inspected = await inspect({ media_available() {} });
    await inspected.deliver(notification({ media_id: 'early', event_time: '2026-01-01T10:00:00+00:00' }));
    await inspected.deliver(notification({ media_id: 'late', event_time: '2026-01-01T11:00:00+00:00' }));
    await inspected.settled();
  });
  afterAll(() => inspected.dispose());

  const resourcesOn = (page: Page) => page.locator('tbody td.id a').allTextContents();
  const headOf = async (page: Page) => (await page.textContent('th:nth-child(5)'))?.replaceAll(/\s+/g, ' ');
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

  test('are in the zone of the reader, with its offset named, and in UTC at a click, which the browser remembers', async () => {
    const { page, complaints } = await openTab(KOLKATA);
    await since(page, '2026-01-01T16:00'); // 10:30 in UTC
    expect(new URL(page.url()).searchParams.get('since')).toBe('2026-01-01T10:30:00.000Z');
    expect(await page.inputValue('input[name=since]')).toMatch(/^2026-01-01T16:00/);
    expect(await headOf(page)).toBe('Received, UTC+05:30');
    await page.click('#zone');
    for (const again of [() => page.click('button:text("Filter")'), () => page.reload()]) {
      expect(await page.inputValue('input[name=since]')).toMatch(/^2026-01-01T10:30/);
      expect(await headOf(page)).toBe('Received, UTC');
      const received = await page.getAttribute('td:nth-child(5) time', 'datetime');
      expect(await page.textContent('td:nth-child(5)')).toContain(received?.slice(11, 19));
      expect(await resourcesOn(page)).toEqual([LATE]);
      await again();
    }
    await page.click('#zone');
    expect(await headOf(page)).toBe('Received, UTC+05:30');
    expect(complaints).toEqual([]);
  });

  test('are UTC, and the page says so, when there is no JavaScript', async () => {
    const { page } = await openTab({ ...KOLKATA, javaScriptEnabled: false });
    await since(page, '2026-01-01T10:30');
    expect(await headOf(page)).toBe('Received, UTC');
    expect(await page.textContent('label:has([name=since])')).toContain('UTC');
    expect(await page.inputValue('input[name=since]')).toMatch(/^2026-01-01T10:30/);
  });
});
