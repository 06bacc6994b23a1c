import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { describeInBrowser, tabs } from '../support/browser.ts';
import { notification, SECRET } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

/** Markup that would run, each with a name of its own. */
const markup = (name: string) =>
  `"><img src=x onerror="window.ran='${name}'"><script>window.ran='${name}'</script></pre>'${name}`;

describeInBrowser('markup in a notification', () => {
  let inspected: Inspected;
  const openTab = tabs();

  beforeAll(async () => {
    inspected = await inspect(
      defineHandlers({
        async media_available(_event, ctx) {
          await ctx.once(markup('step'), () => markup('result'));
          throw new Error(markup('error'));
        },
      }),
    );
    const members = {
      webhook_id: markup('webhook'),
      site_id: markup('site'),
      media_id: markup('media'),
      [markup('member')]: markup('value'),
    };
    await inspected.service.store.secrets.add(markup('webhook'), SECRET);
    const channel = { ...members, media_id: undefined, channel_id: markup('channel') };
    for (const body of [
      notification(members),
      notification({ ...members, event: markup('kind') }),
      notification({ ...channel, event: 'channel_active' }),
    ]) {
      expect((await inspected.deliver(body)).status).toBe(200);
    }
    await inspected.deliver(notification(members), 'another-secret');
    await inspected.settled();
  });
  afterAll(() => inspected.dispose());

  const shown = async (path: string, names: readonly string[]) => {
    const { page, complaints } = await openTab();
    await page.goto(`${inspected.url}${path}`);
    await page.waitForSelector('#live:text-is("live")');
    const text = (await page.textContent('main')) ?? '';
    const missing = names.filter((name) => !text.replaceAll('\\"', '"').includes(markup(name)));
    expect({ path, missing }).toEqual({ path, missing: [] });
    expect(await page.evaluate('window.ran')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(complaints).toEqual([]);
  };

  test.each([
    ['/events/ID', 'webhook site media member value step result error'],
    ['/events/KIND', 'kind media'],
    ['/events', 'kind media channel'],
    ['/events?QUERY', 'kind'],
    ['/events/replay?QUERY', 'kind'],
    ['/refused', 'webhook media value'],
    ['/problems', 'site error'],
    ['/channels', 'channel site'],
    ['/webhooks', 'webhook'],
  ])('is shown as text on %s, when it stands in: %s', async (path, names) => {
    const query = new URLSearchParams({ kind: markup('kind') }).toString();
    const idOf = async (filter: string) => (await inspected.api(`/events?${filter}`)).events[0].id;
    const given = path
      .replace('ID', await idOf('kind=media_available'))
      .replace('KIND', await idOf(query))
      .replace('QUERY', query);
    await shown(given, names.split(' '));
  });
});
