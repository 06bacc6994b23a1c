import { describe, expect, test } from '@jest/globals';
import { SITE, useStage } from '../support/stage.ts';

const stage = useStage({ processingMs: 1000 });
const start = () => stage.mock.now();
const inMs = (ms: number) => new Date(start() + ms).toISOString();

/** What has been received since the last time it was asked. */
async function fresh(): Promise<unknown[]> {
  await stage.mock.settled();
  return stage.receiver.received.splice(0).map(({ body }) => body.event);
}

async function later(ms: number): Promise<unknown[]> {
  await stage.mock.advance(ms);
  return fresh();
}

describe('an upload', () => {
  test('sends four events, while it is processed, one after the other', async () => {
    stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    expect(media_id).toMatch(/^[A-Za-z0-9]{8}$/);
    expect(await fresh()).toEqual(['media_created']);
    expect(await later(249)).toEqual([]);
    expect(await later(1)).toEqual(['thumbnail_created']);
    expect(await later(250)).toEqual(['media_available']);
    expect(await later(499)).toEqual([]);
    expect(await later(1)).toEqual(['conversions_complete']);
    expect(await later(86_400_000)).toEqual([]);
  });

  test('takes the id that it is given, and refuses one that is taken', () => {
    expect(stage.mock.createMedia({ site_id: SITE, media_id: 'MNYaMSQl' }).media_id).toBe('MNYaMSQl');
    expect(() => stage.mock.createMedia({ site_id: SITE, media_id: 'MNYaMSQl' })).toThrow('already');
  });

  test('sends no further notifications, when the media is deleted while it is processed', async () => {
    stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    expect(await later(300)).toEqual(['media_created', 'thumbnail_created']);
    stage.mock.deleteMedia(media_id);
    expect(await later(86_400_000)).toEqual(['media_deleted']);
  });
});

describe('a publish start', () => {
  test('holds media_available back, while it lies ahead, and sends it once it is reached', async () => {
    stage.webhook();
    stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    expect(await later(3_599_999)).toEqual(['media_created', 'thumbnail_created', 'conversions_complete']);
    expect(await later(1)).toEqual(['media_available']);
    expect(await later(86_400_000)).toEqual([]);
  });

  test('makes no difference, when it is reached before the media is indexed', async () => {
    stage.webhook({ events: ['media_available'] });
    stage.mock.createMedia({ site_id: SITE, publish_at: inMs(100) });
    expect(await later(499)).toEqual([]);
    expect(await later(1)).toEqual(['media_available']);
  });

  test('makes no difference, when it lies in the past', async () => {
    stage.webhook({ events: ['media_available'] });
    stage.mock.createMedia({ site_id: SITE, publish_at: inMs(-3_600_000) });
    expect(await later(500)).toEqual(['media_available']);
  });

  test('is now, when the media is published, once only', async () => {
    stage.webhook({ events: ['media_available', 'media_updated'] });
    const { media_id } = stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    expect(await later(2000)).toEqual([]);
    expect(stage.mock.publishMedia(media_id).available).toBe(true);
    expect(await fresh()).toEqual(['media_available']);
    stage.mock.publishMedia(media_id);
    expect(await later(3_600_000)).toEqual([]);
  });

  test('sends nothing yet, when the media is published before it is indexed', async () => {
    stage.webhook({ events: ['media_available'] });
    const { media_id } = stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    stage.mock.publishMedia(media_id);
    expect(await fresh()).toEqual([]);
    expect(await later(500)).toEqual(['media_available']);
  });

  test.each([
    ['later', 7_200_000, ['media_updated'], ['media_available']],
    ['earlier', 1_800_000, ['media_updated', 'media_available'], []],
    ['to the past', -1, ['media_updated', 'media_available'], []],
  ])('moved %s by an update, counts from then on', async (_where, ms, within, beyond) => {
    stage.webhook({ events: ['media_available', 'media_updated'] });
    const { media_id } = stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    await stage.mock.advance(1000);
    stage.mock.updateMedia(media_id, { publish_at: inMs(ms) });
    expect(await later(3_600_000)).toEqual(within);
    expect(await later(3_600_000)).toEqual(beyond);
  });

  test('taken away by an update, makes the media available at once', async () => {
    stage.webhook({ events: ['media_available', 'media_updated'] });
    const { media_id } = stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    await stage.mock.advance(1000);
    stage.mock.updateMedia(media_id, { publish_at: null });
    expect(await fresh()).toEqual(['media_updated', 'media_available']);
  });

  test('sends nothing, when it is reached after the media was deleted', async () => {
    stage.webhook({ events: ['media_available'] });
    const { media_id } = stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    await stage.mock.advance(2000);
    stage.mock.deleteMedia(media_id);
    expect(await later(7_200_000)).toEqual([]);
  });
});

describe('a reupload', () => {
  test('sends media_reuploaded at once, then media_available, and neither conversions_complete nor a thumbnail', async () => {
    stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    await later(1000);
    stage.mock.reuploadMedia(media_id);
    expect(await fresh()).toEqual(['media_reuploaded']);
    expect(await later(499)).toEqual([]);
    expect(await later(1)).toEqual(['media_available']);
    expect(await later(86_400_000)).toEqual([]);
  });

  test('ends the first upload, when that is still processed, so that conversions_complete never comes', async () => {
    stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    expect(await later(100)).toEqual(['media_created']);
    stage.mock.reuploadMedia(media_id);
    expect(await later(86_400_000)).toEqual(['media_reuploaded', 'thumbnail_created', 'media_available']);
  });

  test('holds media_available back, while the publish start lies ahead', async () => {
    stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE, publish_at: inMs(3_600_000) });
    await later(1000);
    stage.mock.reuploadMedia(media_id);
    expect(await later(3_000_000)).toEqual(['media_reuploaded']);
    expect(await later(3_600_000)).toEqual(['media_available']);
  });
});

describe('the content of a media', () => {
  test('is shown by each verb', async () => {
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    await stage.mock.advance(1000);
    const { track_id } = stage.mock.createTrack(media_id, { track_id: 'trackEn1' });
    const { thumbnail_id } = stage.mock.createThumbnail(media_id);
    expect(stage.mock.updateMedia(media_id)).toEqual({
      media_id,
      site_id: SITE,
      stage: 'complete',
      uploads: 1,
      publish_at: null,
      available: true,
      thumbnail_ids: [expect.any(String), thumbnail_id],
      track_ids: [track_id],
    });
  });

  test('goes with it, when the media is deleted, by media_deleted alone', async () => {
    stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    stage.mock.createTrack(media_id);
    await later(1000);
    stage.mock.deleteMedia(media_id);
    expect(await later(1000)).toEqual(['media_deleted']);
    expect(() => stage.mock.createTrack(media_id)).toThrow('there is no media');
  });
});
