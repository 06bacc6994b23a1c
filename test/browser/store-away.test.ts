import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { Breakable } from '../support/breakable-store.ts';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

describeInBrowser('an open page', () => {
  let inspected: Inspected;
  const store = new Breakable();
  const openTab = tabs();
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
