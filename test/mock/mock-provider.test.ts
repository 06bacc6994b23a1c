import { afterEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider, smallLife } from '../../src/mock/index.ts';
import { KINDS, kindNames } from '../../src/notification/kinds.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { ask } from './support/api.ts';
import { SITE, useStage } from './support/stage.ts';

const open: MockProvider[] = [];

async function start(options: Parameters<typeof MockProvider.start>[0] = {}): Promise<MockProvider> {
  const mock = await MockProvider.start({ port: 0, ...options });
  open.push(mock);
  return mock;
}

async function withWebhook(mock: MockProvider): Promise<Receiver> {
  const receiver = await startReceiver();
  const events = ['media_created', 'media_available', 'conversions_complete'] as const;
  mock.createWebhook({ name: 'a', webhook_url: receiver.url, events: [...events], site_ids: [SITE] });
  return receiver;
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

describe('a mock provider', () => {
  test('listens where it is told, or nowhere, with its own secret, and serves both APIs and nothing else', async () => {
    const mock = await start({ host: '127.0.0.2', apiSecret: 'another' });
    const inProcess = MockProvider.inProcess({ apiSecret: 'another' });
    expect(mock.url).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
    for (const [path, Authorization, status] of [
      ['/_mock/clock', '', 200],
      ['/v2/webhooks', mock.apiSecret, 200],
      ['/api/v1/scheduled_statuses', 'Bearer alice-rw', 200],
      ['/nothing', '', 404],
    ] as const) {
      const headers = { Authorization };
      expect((await ask(`${mock.url}${path}`, 'GET', undefined, headers)).status).toBe(status);
      expect((await inProcess.fetch(`http://mock.test${path}`, { headers })).status).toBe(status);
    }
  });

  test("can be put forward, when it has the machine's clock", async () => {
    const mock = await start({ processingMs: 10_000 });
    const receiver = await withWebhook(mock);
    mock.createMedia({ site_id: SITE, publish_at: new Date(mock.now() + 3_600_000).toISOString() });
    expect((await ask(`${mock.url}/_mock/clock`, 'POST', { advance: '2h' })).status).toBe(200);
    expect(receiver.events()).toEqual(['media_created', 'conversions_complete', 'media_available']);
    expect(mock.now() - Date.now()).toBeGreaterThan(7_100_000);
  });

  test('closes at once, when a receiver does not answer, and sends nothing more', async () => {
    const clock = new VirtualClock();
    const mock = await MockProvider.start({ port: 0, clock });
    const receiver = await withWebhook(mock);
    receiver.answer = () => undefined;
    mock.createMedia({ site_id: SITE });
    while (receiver.received.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await mock.close();
    await mock.settled();
    await clock.advance(86_400_000);
    expect([receiver.received.length, clock.nextDue()]).toEqual([1, undefined]);
  });
});

const MINUTE_MS = 60_000;
const faults = { duplicate: 0.1, reorder: 0.1, delay: 0.1, drop: 0.1, tamper: 0.1, forge: 0.1 };

/** What is logged of some minutes of life in virtual time, once all has ended. */
async function logOf(seed: number) {
  const clock = new VirtualClock();
  let posts = 0;
  const post = async () => ({ type: 'answered' as const, status: ++posts % 7 === 0 ? 503 : 200, body: '' });
  const mock = MockProvider.inProcess({ clock, seed: 1, poster: { post } });
  const hook = { name: 'all', webhook_url: 'https://receiver.test/', events: kindNames, site_ids: ['s'] };
  mock.createWebhook(hook);
  const end = smallLife({ mock, site: 's', clock, seed });
  mock.setFaults(faults);
  await clock.advance(5 * MINUTE_MS);
  end();
  await clock.advance(60 * MINUTE_MS);
  const log = mock.deliveries();
  await clock.advance(60 * MINUTE_MS);
  expect(mock.deliveries()).toEqual(log);
  await mock.close();
  return log;
}

test('the same seeds give the same log to the byte, when deliveries have faults and are retried, and it comes to an end', async () => {
  const log = await logOf(7);
  expect(log.filter(({ attempts }) => attempts.length > 1).length).toBeGreaterThan(5);
  expect(log.filter(({ state }) => state === 'pending')).toEqual([]);
  for (const [name] of Object.entries(faults)) expect(log.flatMap((one) => one.faults)).toContain(name);
  expect(await logOf(7)).toEqual(log);
  expect(await logOf(8)).not.toEqual(log);
});

const PROCESSED = 1000;
const A_DAY = 86_400_000;
const HOUR = 3_600_000;
const stage = useStage({ processingMs: PROCESSED });
const inMs = (ms: number) => new Date(stage.mock.now() + ms).toISOString();
const create = (publish_at: string | null = null) =>
  stage.mock.createMedia({ site_id: SITE, publish_at }).media_id;

/** What has been received since the last time it was asked, when so much time has passed. */
async function later(ms: number): Promise<unknown[]> {
  await stage.mock.advance(ms);
  return stage.receiver.received.splice(0).map(({ body }) => body.event);
}

test('each kind comes with the members of the specification, to webhooks for it alone, when one life of each thing is over', async () => {
  const { mock } = stage;
  const own = new Map(kindNames.map((kind) => [kind, stage.webhook({ events: [kind] }).id]));
  stage.webhook({ events: [...kindNames], site_ids: ['jsPxIVHl'] });
  stage.webhook({ events: [...kindNames], site_ids: [] });
  const id = create();
  await mock.advance(PROCESSED);
  mock.updateMedia(id);
  mock.deleteThumbnail(id, mock.createThumbnail(id).thumbnail_id);
  mock.deleteTrack(id, mock.createTrack(id).track_id);
  mock.reuploadMedia(id);
  mock.deleteMedia(id);
  const { channel_id } = mock.createChannel({ site_id: SITE });
  mock.activateChannel(channel_id);
  mock.idleChannel(channel_id);
  await mock.settled();
  const bodies = stage.receiver.received.map(({ body }) => body);
  for (const [kind, webhook_id] of own) {
    const sent = bodies.filter((body) => body.webhook_id === webhook_id);
    expect(new Set(sent.map(({ event }) => event))).toEqual(new Set([kind]));
    const { ids } = KINDS[kind];
    expect(Object.keys(sent[0] ?? {})).toEqual(['event', ...ids, 'webhook_id', 'site_id', 'event_time']);
    expect(sent[0]).toMatchObject({
      site_id: SITE,
      event_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
      ...Object.fromEntries(ids.map((name) => [name, expect.stringMatching(/^[A-Za-z0-9]{8}$/)])),
    });
  }
  const all = new Set<unknown>(own.values());
  expect(bodies.filter(({ webhook_id }) => !all.has(webhook_id))).toEqual([]);
});

describe('an upload', () => {
  test('sends four events, while it is processed, one after the other', async () => {
    stage.webhook();
    create();
    expect(await later(249)).toEqual(['media_created']);
    expect(await later(1)).toEqual(['thumbnail_created']);
    expect(await later(250)).toEqual(['media_available']);
    expect(await later(499)).toEqual([]);
    expect(await later(1)).toEqual(['conversions_complete']);
    expect(await later(A_DAY)).toEqual([]);
  });

  test('that is a reupload sends media_reuploaded at once, then media_available, and no more', async () => {
    stage.webhook();
    const id = create();
    await later(PROCESSED);
    stage.mock.reuploadMedia(id);
    expect(await later(499)).toEqual(['media_reuploaded']);
    expect(await later(1)).toEqual(['media_available']);
    expect(await later(A_DAY)).toEqual([]);
  });
});

describe('a publish start', () => {
  test.each([
    ['ahead', HOUR, [HOUR - 1, HOUR]],
    ['in the past', -HOUR, [499, 500]],
  ])('%s lets media_available come in time', async (_where, ms, [before = 0, then = 0]) => {
    stage.webhook({ events: ['media_available'] });
    create(inMs(ms));
    expect(await later(before)).toEqual([]);
    expect(await later(then - before)).toEqual(['media_available']);
    expect(await later(A_DAY)).toEqual([]);
  });

  test.each([
    ['publish', () => null, ['media_available'], []],
    ['an update to the past', () => ({ publish_at: inMs(-1) }), ['media_updated', 'media_available'], []],
    ['an update to later', () => ({ publish_at: inMs(2 * HOUR) }), ['media_updated'], ['media_available']],
  ])('counts from then on, when it is moved by %s', async (_what, change, atOnce, afterwards) => {
    stage.webhook({ events: ['media_available', 'media_updated', 'media_reuploaded'] });
    const id = create(inMs(HOUR));
    expect(await later(PROCESSED)).toEqual([]);
    const given = change();
    if (given === null) expect(stage.mock.publishMedia(id).available).toBe(true);
    else stage.mock.updateMedia(id, given);
    expect(await later(0)).toEqual(atOnce);
    expect(await later(3 * HOUR)).toEqual(afterwards);
  });
});

test('a live channel sends an event for each change of state, and for nothing else', async () => {
  stage.webhook();
  const { channel_id, state } = stage.mock.createChannel({ site_id: SITE });
  const { activateChannel, idleChannel } = stage.mock;
  expect(state).toBe('idle');
  for (const enter of [
    idleChannel,
    activateChannel,
    activateChannel,
    idleChannel,
    idleChannel,
    activateChannel,
  ])
    enter(channel_id);
  expect(await later(0)).toEqual(['channel_created', 'channel_active', 'channel_idle', 'channel_active']);
});
