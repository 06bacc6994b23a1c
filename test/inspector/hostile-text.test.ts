import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WEBHOOK } from '../support/genuine.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

const body = (media_id: string) => ({
  event: 'media_available',
  webhook_id: WEBHOOK,
  site_id: 'site0001',
  media_id,
  title: SPOOF,
  event_time: '2026-01-01T00:00:00+00:00',
});
const FOREIGN = { ...body('foreign'), event: `e${SPOOF}`, webhook_id: `w${SPOOF}` };

let inspected: Inspected;
let id: string;
beforeAll(async () => {
  inspected = await inspect({
    media_available() {
      throw new Error(`broken ${SPOOF}`);
    },
  });
  await inspected.deliver(body('m1'));
  await inspected.deliver(FOREIGN);
  await inspected.deliver({ ...body('m2'), [SPOOF]: 1 }, 'another secret than the one that is stored');
  await inspected.settled();
  id = (await inspected.api('/events')).events[0].id;
});
afterAll(() => inspected.dispose());

describe('hostile text of strangers', () => {
  test.each([
    '/',
    '/events',
    '/events/ID',
    '/rejections',
    '/quarantine',
    '/channels',
    '/webhooks',
    `/events?q=${encodeURIComponent('title')}`,
  ])('is visible, when it is shown on %s, with nothing that turns text around or hides', async (path) => {
    const page = await inspected.raw(path.replace('ID', id), { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    expect(hostileIn(page.body)).toEqual([]);
  });

  test('is visible, when a page shows an event, as escapes', async () => {
    const page = await inspected.raw(`/events/${id}`, { headers: { accept: 'text/html' } });
    expect(page.body).toContain('\\u202e');
    expect((await inspected.raw('/rejections')).body).toContain('\\u202e');
  });

  test.each(['/events', '/events/ID', '/rejections', '/quarantine'])(
    'stays what it was, when %s answers it as JSON, whose text has it as escapes',
    async (path) => {
      const answer = await inspected.raw(`/api${path.replace('ID', id)}`);
      expect(String(answer.headers['content-type'])).toMatch(/^application\/json/);
      expect(hostileIn(answer.body)).toEqual([]);
      expect(JSON.stringify(JSON.parse(answer.body))).toContain('\u202e');
    },
  );

  test('is what a form sends back, when it is in a filter, to the letter', async () => {
    const site = 'a\u202eb';
    const page = await inspected.raw(`/events?site=${encodeURIComponent(site)}`);
    expect(page.body).toContain(`name="site" value="${site}"`);
  });
});
