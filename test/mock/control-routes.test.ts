import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { controlCatalogue } from '../../src/mock/index.ts';
import { anyCharacter } from '../support/any-character.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { runs } from '../support/sizes.ts';
import { ask } from './support/api.ts';
import { SITE, useStage } from './support/stage.ts';

const stage = useStage({ processingMs: 1000 });
const control = (method: string, path: string, body?: unknown) =>
  ask(`${stage.mock.url}/_mock${path}`, method, body);

describe('the control routes', () => {
  test('do what the verbs do, for a media, its thumbnails and tracks, from creation to deletion', async () => {
    stage.webhook();
    const answers = [
      await control('POST', '/media', {
        site_id: SITE,
        media_id: 'MNYaMSQl',
        publish_at: '2030-01-01T00:00:00Z',
      }),
      await control('POST', '/media/MNYaMSQl/update'),
      await control('POST', '/media/MNYaMSQl/reupload'),
      await control('POST', '/media/MNYaMSQl/thumbnails', { thumbnail_id: 'thumb001' }),
      await control('POST', '/media/MNYaMSQl/tracks', { track_id: 'track001' }),
      await control('POST', '/clock', { advance: '1s' }),
      await control('POST', '/media/MNYaMSQl/publish'),
      await control('DELETE', '/media/MNYaMSQl/thumbnails/thumb001'),
      await control('DELETE', '/media/MNYaMSQl/tracks/track001'),
      await control('DELETE', '/media/MNYaMSQl'),
    ];
    await stage.mock.settled();
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 201, 201, 200, 200, 204, 204, 204]);
    expect(answers[0]?.json).toMatchObject({ media_id: 'MNYaMSQl', site_id: SITE, stage: 'received' });
    expect(answers[3]?.json).toEqual({ thumbnail_id: 'thumb001', media_id: 'MNYaMSQl' });
    expect(stage.receiver.events()).toEqual([
      'media_created',
      'media_updated',
      'media_reuploaded',
      'thumbnail_created',
      'track_created',
      'thumbnail_created',
      'media_available',
      'thumbnail_deleted',
      'track_deleted',
      'media_deleted',
    ]);
  });

  test('answer with nothing that a terminal obeys, whatever they were given, and the same for programs', async () => {
    stage.webhook();
    const media_id = `m${SPOOF}`;
    const answers = [
      await control('POST', '/media', { site_id: SITE, media_id }),
      await control('POST', '/notifications', { event: `e${SPOOF}`, site_id: SITE }),
      await control('POST', `/media/${encodeURIComponent(`n${SPOOF}`)}/update`),
      await control('PUT', '/faults', { [SPOOF]: 1 }),
      await control('POST', `/${encodeURIComponent(SPOOF)}`),
    ];
    await stage.mock.settled();
    answers.push(await control('GET', '/deliveries'));
    expect(answers.map(({ status }) => status)).toEqual([201, 202, 404, 400, 404, 200]);
    expect(answers.map(({ text }) => hostileIn(text))).toEqual(answers.map(() => []));
    expect(answers[0]?.json).toMatchObject({ media_id });
  });

  test('do what the verbs do, for a channel', async () => {
    stage.webhook();
    const created = await control('POST', '/channels', { site_id: SITE });
    const { channel_id } = created.json;
    const answers = [
      await control('POST', `/channels/${channel_id}/active`),
      await control('POST', `/channels/${channel_id}/idle`),
    ];
    await stage.mock.settled();
    expect([created.status, ...answers.map(({ status }) => status)]).toEqual([201, 200, 200]);
    expect(answers[0]?.json).toEqual({ channel_id, site_id: SITE, state: 'active' });
    expect(stage.receiver.events()).toEqual(['channel_created', 'channel_active', 'channel_idle']);
  });

  test('send any payload, with 202 and the deliveries, and show them', async () => {
    const { id } = stage.webhook();
    const sent = await control('POST', '/notifications', { webhook_id: id, event: 'media_exploded', n: [1] });
    expect(sent).toMatchObject({ status: 202, json: { deliveries: [{ id: '1', state: 'pending' }] } });
    await stage.mock.settled();
    const { json } = await control('GET', '/deliveries');
    expect(json).toMatchObject({ total: 1, deliveries: [{ id: '1', state: 'delivered' }] });
    expect(stage.receiver.received[0]?.body).toEqual({ webhook_id: id, event: 'media_exploded', n: [1] });
  });

  test('page through the deliveries, newest page first, each page in order', async () => {
    stage.webhook();
    for (let i = 0; i < 5; i++) stage.mock.createChannel({ site_id: SITE });
    await stage.mock.settled();
    const ids = async (query: string) => {
      const { json } = await control('GET', `/deliveries?${query}`);
      return [json.total, ...json.deliveries.map(({ id }: { id: string }) => id)];
    };
    expect(await ids('limit=2')).toEqual([5, '4', '5']);
    expect(await ids('limit=2&before=4')).toEqual([5, '2', '3']);
    expect(await ids('limit=2&before=2')).toEqual([5, '1']);
    expect(await ids('event=channel_active')).toEqual([0]);
  });

  test('redeliver, with 202 and the new delivery', async () => {
    stage.webhook();
    stage.mock.createChannel({ site_id: SITE });
    const answer = await control('POST', '/deliveries/1/redeliver');
    expect(answer).toMatchObject({ status: 202, json: { id: '2', redelivery_of: '1' } });
    await stage.mock.settled();
    expect(stage.receiver.received).toHaveLength(2);
  });

  test('set faults, with 200 and all of them', async () => {
    const { status, json } = await control('PUT', '/faults', { drop: 1 });
    expect([status, json.drop, json.duplicate]).toEqual([200, 1, 0]);
  });

  test.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['6m', 360_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
  ])('put the clock forward by %s, with 200 and the time after', async (advance, ms) => {
    const before = (await control('GET', '/clock')).json.now;
    const { status, json } = await control('POST', '/clock', { advance });
    expect([status, Date.parse(json.now) - Date.parse(before)]).toEqual([200, ms]);
    expect((await control('GET', '/clock')).json).toEqual(json);
  });

  test('go back to the start, with 204: nothing is there, no faults, and the same ids over again', async () => {
    const { id, secret } = stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    stage.mock.setFaults({ drop: 1 });
    expect((await control('POST', '/reset')).status).toBe(204);
    expect([stage.mock.listWebhooks(), stage.mock.deliveries()]).toEqual([[], []]);
    expect((await control('POST', `/media/${media_id}/update`)).status).toBe(404);
    expect(stage.webhook()).toMatchObject({ id, secret });
    expect(stage.mock.createMedia({ site_id: SITE }).media_id).toBe(media_id);
    await stage.mock.settled();
    expect(stage.receiver.events()).toContain('media_created');
  });

  test.each(controlCatalogue.map(([method, path]) => [method, path]))(
    'exist as listed: %s %s',
    async (method, path) => {
      const answer = await control(method, path.replace('/_mock', '').replaceAll(':id', 'nothing'));
      expect(answer.json?.error ?? '').not.toContain('there is no route');
    },
  );
});

describe('a control route', () => {
  test.each([
    ['POST', '/media', undefined],
    ['POST', '/media', {}],
    ['POST', '/media', '{'],
    ['POST', '/media', { site_id: 5 }],
    ['POST', '/media', { site_id: SITE, publish_at: 'tomorrow' }],
    ['POST', '/media', { site_id: SITE, title: 'unknown member' }],
    ['POST', '/channels', { channel_id: 'YijbmYHJ' }],
    ['POST', '/notifications', undefined],
    ['POST', '/notifications', []],
    ['POST', '/notifications', 'null'],
    ['PUT', '/faults', { drop: 2 }],
    ['PUT', '/faults', { dorp: 1 }],
    ['PUT', '/faults', { drop: '1' }],
    ['POST', '/clock', {}],
    ['POST', '/clock', { advance: '6 minutes' }],
    ['POST', '/clock', { advance: '-6m' }],
    ['POST', '/clock', { advance: 6 }],
    ['POST', '/clock', { advance: '99999999d' }],
    ['GET', '/deliveries?limit=0', undefined],
    ['GET', '/deliveries?limit=abc', undefined],
    ['GET', '/deliveries?status=delivered', undefined],
    ['GET', '/deliveries?state=lost', undefined],
  ])('answers 400 with the reason, for %s %s %j', async (method, path, body) => {
    const { status, json } = await control(method, path, body);
    expect([status, json]).toEqual([400, { error: expect.stringMatching(/./) }]);
  });

  test.each([
    ['POST', '/media/nothing/update'],
    ['POST', '/media/nothing/reupload'],
    ['POST', '/media/nothing/publish'],
    ['DELETE', '/media/nothing'],
    ['POST', '/media/nothing/thumbnails'],
    ['DELETE', '/media/nothing/thumbnails/nothing'],
    ['POST', '/media/nothing/tracks'],
    ['DELETE', '/media/nothing/tracks/nothing'],
    ['POST', '/channels/nothing/active'],
    ['POST', '/channels/nothing/idle'],
    ['POST', '/deliveries/nothing/redeliver'],
    ['POST', '/nothing'],
    ['GET', '/media'],
  ])('answers 404 with the reason, for %s %s', async (method, path) => {
    const { status, json } = await control(method, path);
    expect([status, json]).toEqual([404, { error: expect.stringContaining('there is no') }]);
  });

  test('answers 404, for a notification to a webhook that there is not', async () => {
    expect((await control('POST', '/notifications', { webhook_id: 'nothing' })).status).toBe(404);
    expect((await control('POST', '/notifications', { webhook_id: null })).status).toBe(404);
  });

  test('answers 400, for an id that is taken', async () => {
    await control('POST', '/media', { site_id: SITE, media_id: 'MNYaMSQl' });
    expect((await control('POST', '/media', { site_id: SITE, media_id: 'MNYaMSQl' })).status).toBe(400);
    await control('POST', '/media/MNYaMSQl/tracks', { track_id: 'a' });
    expect((await control('POST', '/media/MNYaMSQl/tracks', { track_id: 'a' })).status).toBe(400);
  });

  test('answers less than 500, for any body', async () => {
    const routes = controlCatalogue.filter(([method, path]) => method !== 'GET' && path !== '/_mock/reset');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.oneof(fc.json(), fc.string({ unit: anyCharacter })),
        async ([method, path], body) => {
          const answer = await control(method, path.replace('/_mock', '').replaceAll(':id', 'nothing'), body);
          expect(answer.status).toBeLessThan(500);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
