import { describe, expect, test } from '@jest/globals';
import { KINDS, type Kind, kindNames } from '../../../src/notification/kinds.ts';
import { keyOf, verifyNotification } from '../../../src/notification/token.ts';
import { SITE, useStage } from '../support/stage.ts';

const stage = useStage({ processingMs: 1000 });
const PROCESSED = 1000;

/** Each row of the specification's table of events: its "sent when", and what brings it about. */
const rows: Record<Kind, readonly [when: string, () => Promise<unknown>]> = {
  media_created: ['media has first been uploaded', async () => stage.mock.createMedia({ site_id: SITE })],
  media_available: ['media is first publishable and indexed', upload],
  conversions_complete: ['all initial renditions are processed', upload],
  media_updated: ['media is updated', async () => stage.mock.updateMedia((await upload()).media_id)],
  media_reuploaded: [
    'a reupload has been initiated',
    async () => stage.mock.reuploadMedia((await upload()).media_id),
  ],
  media_deleted: ['media is deleted', async () => stage.mock.deleteMedia((await upload()).media_id)],
  thumbnail_created: [
    'a thumbnail is created',
    async () => stage.mock.createThumbnail((await upload()).media_id),
  ],
  thumbnail_deleted: [
    'a thumbnail is deleted',
    async () => {
      const { media_id } = await upload();
      stage.mock.deleteThumbnail(media_id, stage.mock.createThumbnail(media_id).thumbnail_id);
    },
  ],
  track_created: ['a text track is created', async () => stage.mock.createTrack((await upload()).media_id)],
  track_deleted: [
    'a text track is deleted',
    async () => {
      const { media_id } = await upload();
      stage.mock.deleteTrack(media_id, stage.mock.createTrack(media_id).track_id);
    },
  ],
  channel_created: ['a live channel is created', async () => stage.mock.createChannel({ site_id: SITE })],
  channel_active: ['a live channel enters an active state', activate],
  channel_idle: [
    'a live channel enters an idle state',
    async () => stage.mock.idleChannel((await activate()).channel_id),
  ],
};

async function upload() {
  const media = stage.mock.createMedia({ site_id: SITE });
  await stage.mock.advance(PROCESSED);
  return media;
}

async function activate() {
  return stage.mock.activateChannel(stage.mock.createChannel({ site_id: SITE }).channel_id);
}

describe.each(kindNames)('%s', (kind) => {
  const [when, bringAbout] = rows[kind];
  const ofThisKind = () => stage.receiver.received.filter(({ body }) => body.event === kind);

  test(`is sent, when ${when}, to a webhook for it`, async () => {
    stage.webhook({ events: [kind] });
    await bringAbout();
    await stage.mock.settled();
    expect(new Set(stage.receiver.events())).toEqual(new Set([kind]));
  });

  test('has the members of the specification, when it is sent, in the order of the real ones', async () => {
    const { id, secret } = stage.webhook();
    await bringAbout();
    await stage.mock.settled();
    const [notification] = ofThisKind();
    if (!notification) throw new Error(`no ${kind} came`);
    const { body, text, token } = notification;
    expect(Object.keys(body)).toEqual(['event', ...KINDS[kind].ids, 'webhook_id', 'site_id', 'event_time']);
    expect(body).toMatchObject({ event: kind, webhook_id: id, site_id: SITE });
    expect(body.event_time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    for (const name of KINDS[kind].ids) expect(body[name]).toMatch(/^[A-Za-z0-9]{8}$/);
    expect(text).toBe(JSON.stringify(body));
    expect(verifyNotification(token, Buffer.from(text), body, [keyOf(secret)])).toBeUndefined();
  });

  test('is not sent, when the webhook is for other kinds or another site', async () => {
    stage.webhook({ events: kindNames.filter((name) => name !== kind) });
    stage.webhook({ events: [kind], site_ids: ['jsPxIVHl'] });
    stage.webhook({ events: [kind], site_ids: [] });
    await bringAbout();
    await stage.mock.settled();
    expect(ofThisKind()).toEqual([]);
  });
});
