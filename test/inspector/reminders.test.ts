import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Handlers } from '../../src/dispatch/handler.ts';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import { fail } from '../../src/dispatch/outcome.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect, inspectedForEachTest } from '../support/inspected-service.ts';

const DAY = 86_400_000;
const setting: Handlers = {
  media_created(_event, ctx) {
    ctx.remind('soon', { after: 1 });
    ctx.remind('<later>', { after: DAY, data: { n: '<b>' } });
  },
};
const app: ReadyApp = {
  handlers: { ...setting, reminder: () => fail('the archive is down') },
  subscribers: {
    search: { handlers: { media_created: (_event, ctx) => ctx.remind('reindex', { after: 2 * DAY }) } },
  },
  schedule: {
    digest: { every: '1s', run() {} },
    report: { cron: '0 6 1 1 *', zone: 'Europe/Berlin', run() {} },
  },
};

describe('an app with reminders and schedules', () => {
  let inspected: Inspected;
  let setter: string;
  const page = async (path: string) => (await inspected.raw(path)).body.replaceAll(/\s+/g, ' ');
  const first = async (filter: string) => (await inspected.api(`/events?limit=1&${filter}`)).events[0];

  beforeAll(async () => {
    inspected = await inspect({}, {}, { app });
    await inspected.deliver(notification({ media_id: 'one', event: 'media_created' }));
    for (const which of ['kind=reminder&status=dead', 'kind=schedule:digest&status=handled'])
      await eventually(`there is ${which}`, async () => (await first(which)) !== undefined);
    setter = (await first('kind=media_created&subscriber=main')).id;
  });

  test('lists what is set by the time when it is due, page by page, with the event that set it', async () => {
    const { reminders, next } = await inspected.api('/reminders');
    const later = { subscriber: '', name: '<later>', set_by: setter, data: { n: '<b>' } };
    const reindex = { subscriber: 'search', name: 'reindex', set_by: `${setter}@search`, data: null };
    expect([reminders, next]).toMatchObject([[later, reindex], null]);
    const one = await inspected.api('/reminders?limit=1');
    const query = new URLSearchParams({ after: one.next, limit: '1' });
    const two = await inspected.api(`/reminders?${query}`);
    expect([...one.reminders, ...two.reminders]).toEqual(reminders);
    expect(await page('/reminders?limit=1')).toContain(`${query}`.replace('&limit=1', '">Later ones'));
    expect((await inspected.raw('/api/reminders?after=dueAt%3Dx')).status).toBe(400);
  });

  test('shows each schedule with its times, its last and next tick, and the instances that have it', async () => {
    const { schedules } = await inspected.api('/schedules');
    const instances = [expect.any(String)];
    expect(schedules).toMatchObject([
      {
        name: 'digest',
        spec: { every: 1000 },
        last_event: expect.any(String),
        instances,
        overdue: false,
      },
      { name: 'report', last_at: null, last_status: null, instances, overdue: false },
    ]);
    const html = await page('/reminders');
    expect(html).toMatch(
      /<code>every 1s<\/code> .* next tick <time .*, last <time .*<a href="events\/.*handled</,
    );
    expect(html).toMatch(/<code>0 6 1 1 \* Europe\/Berlin<\/code> .* last <span class="quiet">none</);
    expect(html).toMatch(
      /<b>&lt;later&gt;<\/b> of <a href="events.* for <b>main<.*;:&quot;&lt;b&gt;&quot;}</,
    );
  });

  test('shows what is set on the page of an event of its media, and where a reminder and a tick come from', async () => {
    const reminder = (await first('kind=reminder')).id;
    for (const id of [setter, reminder])
      expect(await page(`/events/${id}`)).toMatch(
        RegExp(`s of media:one</h2>.*;later&.*"events/${setter}">`),
      );
    expect(await page(`/events/${reminder}`)).toMatch(
      /<dd>reminder<\/dd>.*&quot;name&quot;: &quot;soon&quot;/,
    );
    const tick = await page(`/events/${(await first('kind=schedule:digest')).id}`);
    expect(tick).toMatch(/<dd>schedule<\/dd>.*&quot;name&quot;: &quot;digest&quot;/);
    const [, path = ''] = /› <a href="([^"]+)">schedule:digest/.exec(tick) ?? [];
    expect(await page(`/${path}`)).toMatch(
      /<option value="schedule:digest">.*<td><a href="events\/.*>schedule:/,
    );
  });

  test('retries a reminder from Problems, and a replay of all counts neither reminders nor ticks', async () => {
    const [, query = ''] = /events\/replay\?([^"]*kind=reminder[^"]*)/.exec(await page('/problems')) ?? [];
    const filters = new URLSearchParams(query.replaceAll('&amp;', '&'));
    expect(await page(`/events/replay?${filters}`)).toContain('<button>Replay 1 event</button>');
    const answer = await inspected.post('/api/events/replay', Object.fromEntries(filters));
    expect(JSON.parse(answer.body)).toMatchObject({ events: 1 });
    const all = await page('/events/replay?subscriber=main');
    expect(all).toContain('<button>Replay 1 event</button>');
    expect(all).toContain('Reminders and ticks are left out');
  });
});

describe('schedules and reminders of some instances', () => {
  const start = inspectedForEachTest();
  const database = databaseForEachTest();
  const digest = { resource: 'schedule:digest', data: '{"every":3600000}' };
  const past = "reminders SET due_at = due_at - 7200000 WHERE name = ''";
  const started = async (handlers: Handlers) => {
    const inspected = await start(handlers, { ...database().env, INSTANCE_NAME: 'old' });
    const { store } = inspected.service;
    await store.queue.schedule({ list: [digest] });
    await database().execute({ sqlite: `UPDATE ${past}`, postgres: `UPDATE hookkit.${past}` });
    const others = { name: 'new', version: '1', startedAt: Date.now() - 3_600_000, running: 0 };
    const told = async (kinds: readonly string[]) => {
      await store.reports.report({ instance: { ...others, kinds }, stats: [], refusals: [] });
      const concerns: Record<string, string>[] = (await inspected.api('/stats')).concerns;
      return concerns.map((one) => `${one.grave} ${one.fault} ${one.of}: ${one.text}`).sort();
    };
    return { inspected, store, told };
  };

  test('a tick is overdue where a living instance has its schedule, but under a pause; the page says where none has', async () => {
    const { inspected, store, told } = await started({});
    expect(await told([])).toEqual([]);
    expect((await inspected.raw('/reminders')).body).toContain('no living instance has it');
    await store.reports.forget({ name: 'new' });
    const [concern] = await told(['schedule:digest']);
    expect(concern).toMatch(/^false schedule_overdue digest: No instance has made the tick of schedule/);
    const { schedules } = await inspected.api('/schedules');
    expect(schedules).toMatchObject([{ instances: ['new'], overdue: true }]);
    await store.queue.pause({ reason: 'a test', by: 'me' });
    expect(await told(['schedule:digest'])).toEqual([expect.stringMatching(/^true paused/)]);
  });

  test('what was skipped for want of a handler is told by kinds, each reminder and tick with the filter that replays it', async () => {
    const { inspected, store, told } = await started(setting);
    await inspected.deliver(notification({ event: 'media_created' }));
    await inspected.deliver(notification({ event: 'media_invented', media_id: 'other' }));
    await store.queue.comeDue({ schedules: [digest] });
    await eventually('three are skipped', async () => (await store.queue.count({ status: 'skipped' })) === 3);
    const all = ['reminder', 'schedule:digest', 'unknown', 'media_created'];
    const skipped = '1 event was skipped, as instance old has no handler for';
    expect(await told(all)).toEqual([
      `true no_handler reminder: ${skipped} reminder, and new has one`,
      `true no_handler schedule:digest: ${skipped} schedule:digest, and new has one`,
      `true no_handler undefined: ${skipped} unknown, and new has one`,
    ]);
    const { concerns } = await inspected.api('/stats');
    await store.queue.pause({ reason: 'a test', by: 'me' });
    for (const { path, advice } of concerns) {
      expect(advice).toContain('`npx hookkit events replay --status skipped --error ');
      const page = path.replace('events', 'events/replay');
      expect((await inspected.raw(`/${page}`)).body).toContain('<button>Replay 1 event</button>');
      const filters = Object.fromEntries(new URLSearchParams(path.split('?')[1]));
      expect((await inspected.post('/api/events/replay', filters)).status).toBe(200);
    }
    expect(await told(all)).toEqual([expect.stringMatching(/^true paused/)]);
  });
});
