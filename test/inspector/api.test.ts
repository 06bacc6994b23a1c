import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { skip } from '../../src/dispatch/outcome.ts';
import { eventually } from '../support/eventually.ts';
import { notification, WEBHOOK } from '../support/genuine.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { inspect } from '../support/inspected-service.ts';
import { only } from '../support/only.ts';

const held = new HeldHandler();

const handlers = defineHandlers({
  async media_available(event, ctx) {
    await ctx.once('publish', () => ({ page: event.media_id }));
    ctx.state.set('<b>posted</b>', { id: event.media_id });
  },
  media_updated: () => skip('not for us'),
  media_deleted() {
    throw new Error('it never works', { cause: new TypeError('no page') });
  },
  media_created: (event, ctx) => held.handle(event, ctx),
  channel_active() {},
  channel_idle() {},
});

const inspected = await inspect(handlers);
const at = (second: number) => `2026-01-01T00:00:0${second}+00:00`;
for (const body of [
  notification({ media_id: 'one', event_time: at(1) }),
  notification({ media_id: 'one', event_time: at(1) }),
  notification({ media_id: 'one', event: 'media_updated', event_time: at(2) }),
  notification({ media_id: 'two', event: 'media_deleted', event_time: at(3) }),
  notification({ media_id: undefined, channel_id: 'live1', event: 'channel_active', event_time: at(4) }),
  notification({ media_id: undefined, channel_id: 'live2', event: 'channel_active', event_time: at(4) }),
  notification({ media_id: undefined, channel_id: 'live2', event: 'channel_idle', event_time: at(5) }),
]) {
  expect((await inspected.deliver(body)).status).toBe(200);
}
await inspected.settled(); // so that the next one is late
const late = { media_id: undefined, channel_id: 'live1', event: 'channel_idle', event_time: at(3) };
expect((await inspected.deliver(notification(late))).status).toBe(200);
expect((await inspected.deliver(notification({ media_id: 'forged' }), 'another-secret')).status).toBe(401);
await inspected.settled();
const description = await inspected.api('/openapi.json');

/** Asks, and checks the status of the answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
async function ask(method: string, given: string, status = 200, body?: object): Promise<any> {
  const headers = { 'content-type': 'application/json' };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const answer = await fetch(`${inspected.url}${given}`, init);
  const json: unknown = await answer.json();
  expect({ given, status: answer.status, json }).toMatchObject({ status });
  return json;
}

const idOf = async (filters: string): Promise<string> =>
  (await ask('GET', `/api/events?${filters}`)).events[0].id;

describe('the description of the API', () => {
  test('is OpenAPI 3.1 and names every route, when it is asked for', () => {
    expect(description.openapi).toBe('3.1.0');
    const routes =
      'audit channels events events/dismiss events/replay events/{id} events/{id}/dismiss events/{id}/replay instances/{name} pause ' +
      'problems quarantine quarantine/admit quarantine/drop received reconciled refusals rejections reminders resume schedules series ' +
      'stats stream webhooks';
    const paths = routes.split(' ').map((route) => `/api/${route}`);
    expect(Object.keys(description.paths).sort()).toEqual(paths);
  });
});

describe('lists of events', () => {
  test.each([
    ['', 7],
    ['kind=media_available', 1],
    ['kind=channels', 4],
    ['status=handled&kind=channel_idle', 2],
    ['resource=media:one', 2],
    [`webhook=${WEBHOOK}`, 7],
    ['since=2026-01-01T00:00:02&until=2026-01-01T01:00:04%2B01:00', 3],
    ['q=live2', 2],
    ['error=*never%20works:%20no%20page', 1],
  ])('hold what matches, when the query is %j: %i', async (query, count) => {
    const { events, next } = await ask('GET', `/api/events?${query}`);
    expect(events).toHaveLength(count);
    expect(next).toBeNull();
  });

  test('go on where they ended, when they are asked for page by page, without gap or repeat', async () => {
    const whole = await ask('GET', '/api/events');
    const ids: string[] = [];
    for (let before = ''; ; ) {
      const page = await ask('GET', `/api/events?limit=2&before=${before}`);
      ids.push(...page.events.map(({ id }: { id: string }) => id));
      if (page.next === null) break;
      before = page.next;
    }
    expect(ids).toEqual(whole.events.map(({ id }: { id: string }) => id));
  });

  test.each(['since=2026-01-02&until=2026-01-01', 'since=yesterday'])(
    'are refused, when the query is %s, with 400 and what is wrong',
    async (query) => {
      const { error } = await ask('GET', `/api/events?${query}`, 400);
      expect(error).toContain(query.split('=')[0]);
    },
  );
});

describe('one event', () => {
  test('comes with its attempts, its error and its neighbours, when its handler has given up', async () => {
    const event = await ask('GET', `/api/events/${await idOf('status=dead')}`);
    expect(event).toMatchObject({ kind: 'media_deleted', status: 'dead', late: false, steps: [] });
    expect(event.history).toHaveLength(3);
    expect(event.last_error).toMatch(
      /^Error: it never works: no page\n +at .*api\.test[\s\S]*\ncaused by: TypeError: no page/,
    );
    const { instance } = await ask('GET', '/api/stats');
    for (const attempt of event.history)
      expect(attempt).toMatchObject({ outcome: 'error', instance, error: event.last_error });
    expect(only(inspected.log.withMessage('event is dead')).reason).toBe(event.last_error);
    const { body: page } = await inspected.raw(`/events/${event.id}`);
    expect(page.match(new RegExp(`on <span class="id">${instance}</span>`, 'g'))).toHaveLength(3);
  });

  test('comes with its deliveries and steps, when it came twice and did one', async () => {
    const event = await ask('GET', `/api/events/${await idOf('kind=media_available')}`);
    expect(event).toMatchObject({ deliveries: 2, steps: [{ name: 'publish', result: { page: 'one' } }] });
    expect(event.timeline).toMatchObject([
      { kind: 'media_updated', status: 'skipped', handled_at: expect.any(String) },
      { kind: 'media_available', handled_at: event.handled_at },
    ]);
  });

  test('shows what handlers left for its media, in JSON and on its page, when there is a state', async () => {
    const { state, id } = await ask('GET', `/api/events/${await idOf('kind=media_available')}`);
    expect(state).toEqual({ '<b>posted</b>': { id: 'one' } });
    const { body: page } = await inspected.raw(`/events/${id}`);
    expect(page).toContain('State of media:one');
    expect(page).toContain('&lt;b&gt;posted&lt;/b&gt;');
  });

  test('is not there, when it was never sent, with 404', async () => {
    await ask('GET', '/api/events/abc-0123456789abcdef0123', 404);
    await ask('POST', '/api/events/abc-0123456789abcdef0123/replay', 404, {});
  });
});

describe('reports', () => {
  test('tell where channels stand by their newest event, when older ones came later', async () => {
    const { counts, channels } = await ask('GET', '/api/channels');
    expect(counts).toEqual({ active: 1, idle: 1 });
    expect(channels).toMatchObject([
      { channel_id: 'live2', state: 'idle', since: '2026-01-01T00:00:05.000Z' },
      { channel_id: 'live1', state: 'active', since: '2026-01-01T00:00:04.000Z' },
    ]);
    const first = await ask('GET', '/api/channels?limit=1');
    const second = await ask('GET', `/api/channels?limit=1&after=${first.next}`);
    expect(second.channels).toMatchObject([{ channel_id: 'live1' }]);
    const active = await ask('GET', '/api/channels?state=active');
    expect(active.channels).toMatchObject([{ channel_id: 'live1' }]);
  });

  test('tell why one was refused and what waits in quarantine, when it was forged, without its token', async () => {
    const { rejections } = await ask('GET', '/api/rejections');
    expect(rejections).toMatchObject([{ status: 401, result: 'bad_signature', kind: 'media_available' }]);
    const quarantine = await ask('GET', '/api/quarantine');
    expect(quarantine).toMatchObject({ total: 1, webhooks: [{ webhook_id: WEBHOOK, notifications: 1 }] });
    expect(JSON.stringify([rejections, quarantine])).not.toContain('eyJ');
  });

  test('count, when all has come to its end, what the lists hold', async () => {
    const stats = await ask('GET', '/api/stats');
    expect(stats.events).toEqual({ pending: 0, running: 0, dead: 1 });
    expect(stats).toMatchObject({ oldest_pending_at: null, quarantined: 1 });
    expect(stats.last_10_minutes).toMatchObject({ accepted: 7, duplicate: 1, rejected: 1 });
  });
});

describe('a mistyped request', () => {
  const REPLAY = '0b0e7a4e-94e4-4d33-8f0a-2f7ed1d24a4e';
  const FORM = 'application/x-www-form-urlencoded';
  const send = async (method: string, path: string, body?: string, type = 'application/json') => {
    const headers = {
      origin: inspected.url,
      ...(body && { 'content-type': type, 'content-length': `${Buffer.byteLength(body)}` }),
    };
    const given = path.replace(':id', await idOf('kind=media_available'));
    return inspected.raw(given, { method, headers, ...(body && { body }) });
  };
  const replayed = async () => (await ask('GET', '/api/events')).events;

  test.each([
    ['/api/events/replay', '{"kind":"media_available","dryRun":true}', 'unknown: "dryRun"'],
    ['/api/events/replay?kind=media_created&kind=media_available', '{}', 'given more than once: "kind"'],
    ['/api/events/replay', '{}', 'all: true'],
    ['/api/events/:id/replay', '{"dry_run":true}', 'unknown: "dry_run"'],
    ['/api/events/replay?status=handled', 'dry_run=true', 'cannot be read'],
  ])('replays nothing, when POST %s gets %s, with 400 and: %s', async (path, body, error) => {
    const before = await replayed();
    const answer = await send('POST', path, body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error).toContain(error);
    expect(await replayed()).toEqual(before);
  });

  test.each([
    ['/events/replay', `id=${REPLAY}&dry_run=`],
    ['/events/:id/replay', 'resetSteps=on'],
  ])('replays nothing, when the form %s has %s, with 400', async (path, body) => {
    const before = await replayed();
    expect(await send('POST', path, body, FORM)).toMatchObject({ status: 400 });
    expect(await replayed()).toEqual(before);
  });

  test('is refused, when GET /api/channels gets an unknown parameter, with 400 that lists those that are known', async () => {
    for (const name of ['status[]', 'State', '__proto__']) {
      const error = `unknown: "${name}"; known are state, after, limit`;
      expect(await ask('GET', `/api/channels?${name}=dead`, 400)).toEqual({ error });
    }
  });
});

test('an event names its process, since when, and how long the lease lasts, while it runs, in JSON and on its page', async () => {
  const delivered = await inspected.deliver(notification({ media_id: 'slow', event: 'media_created' }));
  const { id } = (await delivered.json()) as { readonly id: string };
  const detail = () => ask('GET', `/api/events/${id}`);
  await eventually('it runs', async () => (await detail()).running !== null);
  const { running, status, history } = await detail();
  expect({ status, history }).toEqual({ status: 'running', history: [] });
  expect(Date.parse(running.lease_until)).toBeGreaterThan(Date.parse(running.started_at));
  const page = async () => (await inspected.raw(`/events/${id}`)).body;
  const place = `on <span class="id">${running.instance}</span>; its lease lasts until`;
  expect(await page()).toMatch(new RegExp(`running</span>\\s+since <time [^>]+>[^<]+</time>, ${place}`));
  held.last.end();
  await inspected.settled();
  expect(await detail()).toMatchObject({ running: null, status: 'handled' });
  expect(await page()).not.toContain('its lease lasts');
});
