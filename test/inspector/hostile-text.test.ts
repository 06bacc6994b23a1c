import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { WEBHOOK } from '../support/genuine.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { type Inspected, inspect, inspectedForEachTest } from '../support/inspected-service.ts';

const members = {
  event: 'media_available',
  webhook_id: WEBHOOK,
  site_id: 'site0001',
  media_id: 'm1',
  event_time: '2026-01-01T00:00:00+00:00',
};

describe('text of strangers that turns around or hides', () => {
  let inspected: Inspected;
  let id: string;
  beforeAll(async () => {
    inspected = await inspect({
      media_available() {
        throw new Error(`broken ${SPOOF}`);
      },
    });
    const body = { ...members, title: SPOOF };
    await inspected.deliver(body);
    await inspected.deliver({ ...body, event: `e${SPOOF}`, webhook_id: `w${SPOOF}` });
    await inspected.deliver({ ...body, [SPOOF]: 1 }, 'another secret than the one that is stored');
    await inspected.settled();
    id = (await inspected.api('/events')).events[0].id;
  });
  afterAll(() => inspected.dispose());

  test.each(['/', '/problems', '/events', '/events/ID', '/refused', '/channels', '/webhooks'])(
    'is visible on %s, and means the same in its JSON',
    async (path) => {
      const page = await inspected.raw(path.replace('ID', id), { headers: { accept: 'text/html' } });
      expect([page.status, hostileIn(page.body)]).toEqual([200, []]);
      if (!/problems|events|refused/.test(path)) return;
      expect(page.body).toContain('\\u202e');
      const apis = path === '/refused' ? ['/refusals', '/rejections', '/quarantine'] : [path];
      for (const api of apis) {
        const answer = await inspected.raw(`/api${api.replace('ID', id)}`);
        expect(hostileIn(answer.body)).toEqual([]);
        expect(JSON.stringify(JSON.parse(answer.body))).toContain('\u202e');
      }
    },
  );

  test('is what a form sends back, when it is in a filter, to the letter', async () => {
    const site = 'a\u202eb';
    const page = await inspected.raw(`/events?site=${encodeURIComponent(site)}`);
    expect(page.body).toContain(`name="site" value="${site}"`);
  });
});

describe('long text of strangers', () => {
  const start = inspectedForEachTest();
  const LONG = 'q'.repeat(20_000);
  const longestRun = (text: string) => Math.max(0, ...(text.match(/q+/g) ?? []).map((run) => run.length));

  test('is cut to 210 characters in log, API and pages, when refused requests have it in kind, webhook and the names of members', async () => {
    const inspected = await start();
    for (const more of [
      { [LONG]: 1 },
      { ['q'.repeat(150)]: { [LONG]: 1 } },
      { event: LONG },
      { webhook_id: LONG },
    ])
      expect((await inspected.deliver({ ...members, ...more }, 'forged')).status).toBe(401);
    const { rejections } = await inspected.api('/rejections');
    expect(rejections).toHaveLength(4);
    const paths = ['/', '/refused', '/webhooks', '/api/refusals'];
    const pages = await Promise.all(paths.map((path) => inspected.raw(path)));
    const texts = [JSON.stringify(rejections), ...inspected.log.lines, ...pages.map((page) => page.body)];
    expect(Math.max(...texts.map(longestRun))).toBeLessThanOrEqual(210);
  });

  test('is cut to 4,000 characters of a body, when the quarantine shows it', async () => {
    const inspected = await start();
    await inspected.deliver({ ...members, title: LONG.slice(0, 6000) }, 'not known yet');
    await eventually('it is kept', async () => (await inspected.service.store.quarantineSize()) === 1);
    const { newest } = await inspected.api('/quarantine');
    expect(newest[0].body).toHaveLength(4000);
    expect(longestRun((await inspected.raw('/refused')).body)).toBeLessThan(4000);
  });
});
