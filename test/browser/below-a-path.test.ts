import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { startProxy } from '../support/proxy.ts';

const TOKEN = 'the-admin-token-of-the-tests';

describeInBrowser('the inspector below the path of a proxy', () => {
  let inspected: Inspected;
  let proxied: Awaited<ReturnType<typeof startProxy>>;
  const openTab = tabs();
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
    await inspected.dispose();
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
