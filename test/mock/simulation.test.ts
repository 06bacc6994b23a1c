import { describe, expect, test } from '@jest/globals';
import { KINDS, type Kind, kindNames } from '../../src/notification/kinds.ts';
import { SITE, useStage } from './support/stage.ts';

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

async function upload() {
  const id = create();
  await stage.mock.advance(PROCESSED);
  return id;
}

/** What brings each of the specification's events about. */
const causes: Record<Kind, () => unknown> = {
  media_created: create,
  media_available: upload,
  conversions_complete: upload,
  media_updated: async () => stage.mock.updateMedia(await upload()),
  media_reuploaded: async () => stage.mock.reuploadMedia(await upload()),
  media_deleted: async () => stage.mock.deleteMedia(await upload()),
  thumbnail_created: async () => stage.mock.createThumbnail(await upload()),
  thumbnail_deleted: async () => {
    const id = await upload();
    stage.mock.deleteThumbnail(id, stage.mock.createThumbnail(id).thumbnail_id);
  },
  track_created: async () => stage.mock.createTrack(await upload()),
  track_deleted: async () => {
    const id = await upload();
    stage.mock.deleteTrack(id, stage.mock.createTrack(id).track_id);
  },
  channel_created: () => stage.mock.createChannel({ site_id: SITE }),
  channel_active: () => stage.mock.activateChannel(stage.mock.createChannel({ site_id: SITE }).channel_id),
  channel_idle: () => {
    const { channel_id } = stage.mock.createChannel({ site_id: SITE });
    stage.mock.activateChannel(channel_id);
    stage.mock.idleChannel(channel_id);
  },
};

test.each(kindNames)(
  '%s comes with the members of the specification, to webhooks for it alone',
  async (kind) => {
    const { id } = stage.webhook({ events: [kind] });
    stage.webhook({ events: kindNames.filter((name) => name !== kind) });
    stage.webhook({ events: [kind], site_ids: ['jsPxIVHl'] });
    stage.webhook({ events: [kind], site_ids: [] });
    await causes[kind]();
    await stage.mock.settled();
    const sent = stage.receiver.received.map(({ body }) => body).filter(({ event }) => event === kind);
    expect(new Set(sent.map(({ webhook_id }) => webhook_id))).toEqual(new Set([id]));
    const { ids } = KINDS[kind];
    expect(Object.keys(sent[0] ?? {})).toEqual(['event', ...ids, 'webhook_id', 'site_id', 'event_time']);
    expect(sent[0]).toMatchObject({
      site_id: SITE,
      event_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
      ...Object.fromEntries(ids.map((name) => [name, expect.stringMatching(/^[A-Za-z0-9]{8}$/)])),
    });
  },
);

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
    ['reached before the media is indexed', 100, [499, 500]],
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
    ['a reupload', () => 'reupload', ['media_reuploaded'], ['media_available']],
  ])('counts from then on, when it is moved by %s', async (_what, change, atOnce, afterwards) => {
    stage.webhook({ events: ['media_available', 'media_updated', 'media_reuploaded'] });
    const id = create(inMs(HOUR));
    expect(await later(PROCESSED)).toEqual([]);
    const given = change();
    if (given === null) expect(stage.mock.publishMedia(id).available).toBe(true);
    else if (typeof given === 'string') stage.mock.reuploadMedia(id);
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
