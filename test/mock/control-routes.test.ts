import { describe, expect, test } from '@jest/globals';
import { controlCatalogue, MockProvider } from '../../src/mock/index.ts';
import { ask } from './support/api.ts';
import { SITE, useStage } from './support/stage.ts';

const stage = useStage({ processingMs: 1000, rateLimit: 1_000_000 });
const control = (method: string, path: string, body?: unknown) =>
  ask(`${stage.mock.url}/_mock${path}`, method, body);

describe('the control routes', () => {
  test('do what the verbs do, for media, thumbnails, tracks and channels, from creation to deletion', async () => {
    stage.webhook();
    const media = { site_id: SITE, media_id: 'MNYaMSQl', publish_at: '2030-01-01T00:00:00Z' };
    const steps: readonly (readonly [number, string, string, unknown?, unknown?])[] = [
      [201, 'POST', '/media', media, { media_id: 'MNYaMSQl', site_id: SITE, stage: 'received' }],
      [200, 'POST', '/media/MNYaMSQl/update', undefined, { publish_at: '2030-01-01T00:00:00.000Z' }],
      [200, 'POST', '/media/MNYaMSQl/reupload', undefined, { uploads: 2 }],
      [201, 'POST', '/media/MNYaMSQl/thumbnails', { thumbnail_id: 'th' }, { thumbnail_id: 'th' }],
      [201, 'POST', '/media/MNYaMSQl/tracks', undefined, { media_id: 'MNYaMSQl' }],
      [200, 'POST', '/clock', { advance: '1s' }, { now: '2026-01-01T00:00:01.000Z' }],
      [200, 'POST', '/clock', { advance: '1.5h' }, { now: '2026-01-01T01:30:01.000Z' }],
      [200, 'GET', '/clock', undefined, { now: '2026-01-01T01:30:01.000Z' }],
      [200, 'POST', '/media/MNYaMSQl/publish', undefined, { available: true, stage: 'complete' }],
      [204, 'DELETE', '/media/MNYaMSQl/thumbnails/th'],
      [201, 'POST', '/media/MNYaMSQl/tracks', { track_id: 'tr' }],
      [204, 'DELETE', '/media/MNYaMSQl/tracks/tr'],
      [204, 'DELETE', '/media/MNYaMSQl'],
      [201, 'POST', '/channels', { site_id: SITE, channel_id: 'ch' }, { channel_id: 'ch', state: 'idle' }],
      [200, 'POST', '/channels/ch/active', undefined, { site_id: SITE, state: 'active' }],
      [200, 'POST', '/channels/ch/idle', undefined, { state: 'idle' }],
    ];
    for (const [status, method, path, body, shown] of steps) {
      const answer = await control(method, path, body);
      expect([path, answer.status]).toEqual([path, status]);
      if (shown) expect(answer.json).toMatchObject(shown);
    }
    await stage.mock.settled();
    expect(stage.receiver.events().join(' ')).toBe(
      'media_created media_updated media_reuploaded thumbnail_created track_created thumbnail_created ' +
        'media_available thumbnail_deleted track_created track_deleted media_deleted channel_created channel_active channel_idle',
    );
  });

  test('send any payload, show the deliveries in pages, the newest first, and redeliver', async () => {
    const { id } = stage.webhook();
    const sent = await control('POST', '/notifications', { webhook_id: id, event: 'media_exploded', n: [1] });
    expect(sent).toMatchObject({ status: 202, json: { deliveries: [{ id: '1', state: 'pending' }] } });
    expect(await control('POST', '/deliveries/1/redeliver')).toMatchObject({
      status: 202,
      json: { id: '2', redelivery_of: '1' },
    });
    for (let i = 0; i < 3; i++) stage.mock.createChannel({ site_id: SITE, channel_id: `c${i}` });
    await stage.mock.settled();
    const ids = async (query: string) => {
      const { json } = await control('GET', `/deliveries?${query}`);
      return [json.total, ...json.deliveries.map((delivery: { id: string }) => delivery.id)].join(' ');
    };
    for (const [query, expected] of [
      ['limit=2&before=4', '5 2 3'],
      ['event=channel_created&channel_id=c1', '1 4'],
      [`webhook_id=${id}&state=delivered&limit=1`, '5 5'],
    ] as const) {
      expect([query, await ids(query)]).toEqual([query, expected]);
    }
  });

  test('set faults, and go back to the start: nothing is there, no faults, and the same ids over again', async () => {
    const { id, secret } = stage.webhook();
    const { media_id } = stage.mock.createMedia({ site_id: SITE });
    const { status, json } = await control('PUT', '/faults', { drop: 1 });
    expect([status, json.drop, json.duplicate]).toEqual([200, 1, 0]);
    expect((await control('POST', '/reset')).status).toBe(204);
    expect([stage.mock.listWebhooks(), stage.mock.deliveries()]).toEqual([[], []]);
    expect((await control('POST', `/media/${media_id}/update`)).status).toBe(404);
    expect(stage.webhook()).toMatchObject({ id, secret });
    expect(stage.mock.createMedia({ site_id: SITE }).media_id).toBe(media_id);
    await stage.mock.settled();
    expect(stage.receiver.events()).toContain('media_created');
  });

  test('have statuses scheduled as before 4.3: keys mean nothing, and what is too soon is out at once, until a reset', async () => {
    const post = (minutes: number) => {
      const scheduled_at = new Date(stage.mock.now() + minutes * 60_000).toISOString();
      const headers = { Authorization: 'Bearer alice-rw', 'Content-Type': 'application/json' };
      const body = { status: 'x', scheduled_at };
      return ask(`${stage.mock.url}/api/v1/statuses`, 'POST', body, { ...headers, 'Idempotency-Key': 'key' });
    };
    const old = { before_4_3: true };
    expect(await control('PUT', '/statuses', old)).toMatchObject({ status: 200, json: old });
    expect([(await post(60)).json.id, (await post(60)).json.id]).toEqual(['1', '2']);
    expect((await post(4)).json).toMatchObject({ content: '<p>x</p>' });
    await control('POST', '/reset');
    expect([(await post(60)).json.id, (await post(60)).json.id]).toEqual(['1', '1']);
    stage.mock.reset();
    expect((await post(4)).status).toBe(422);
  });
});

describe('a control route', () => {
  test.each([
    ['POST', '/media', { site_id: SITE, title: 'unknown member' }],
    ['POST', '/media', { site_id: SITE, media_id: 'taken' }],
    ['PUT', '/faults', { dorp: 1 }],
    ['PUT', '/statuses', { before: '4.3' }],
    ['POST', '/clock', { advance: '6 minutes' }],
    ['GET', '/deliveries?limit=0', undefined],
  ])('answers 400 with the reason, for %s %s %j', async (method, path, body) => {
    stage.mock.createMedia({ site_id: SITE, media_id: 'taken' });
    const { status, json } = await control(method, path, body);
    expect([status, json]).toEqual([400, { error: expect.stringMatching(/./) }]);
  });

  test.each([
    ...controlCatalogue
      .map(([method, path]) => [method, path.slice('/_mock'.length)])
      .filter(([, path]) => path?.includes(':id')),
    ['POST', '/nothing'],
    ['GET', '/media'],
  ])('answers 404 with the reason, for %s %s of what there is not', async (method = '', path = '') => {
    const { status, json } = await control(method, path.replaceAll(':id', 'nothing'));
    expect([status, json]).toEqual([404, { error: expect.stringContaining('there is no') }]);
  });
});

const Authorization = 'mock-api-secret';
type Headers = Record<string, string>;
const askGuarded = (method: string, path: string, headers: Headers, url = stage.mock.url) =>
  ask(`${url}${path}`, method, undefined, headers);

const ROUTES = [
  'GET /_mock/clock',
  'POST /_mock/reset',
  'OPTIONS /_mock/reset',
  'GET /v2/webhooks',
  'POST /v2/webhooks',
];
/** Whether the guarded routes are open to a request: all of them or none. */
async function isOpen(headers: Headers, url?: string): Promise<boolean> {
  const answers = await Promise.all(
    ROUTES.map((route) => {
      const [method = '', path = ''] = route.split(' ');
      return askGuarded(method, path, { Authorization, ...headers }, url);
    }),
  );
  const [first, ...others] = new Set(answers.map(({ status }) => status !== 403));
  expect(others).toEqual([]);
  return first === true;
}
const port = () => new URL(stage.mock.url).port;

describe('the control routes and the webhooks API', () => {
  test.each([
    ['localhost:PORT', 'open'],
    ['127.0.0.1:PORT', 'open'],
    ['127.0.0.1.evil.example:PORT', 'closed'],
    ['evil.example@localhost:PORT', 'closed'],
    ['localhost', 'closed'],
  ])('for Host %s are %s, to programs and to a page of that very origin', async (template, expected) => {
    const Host = template.replace('PORT', port());
    const page = { Host, Origin: `http://${Host}`, 'Sec-Fetch-Site': 'same-origin' };
    expect([await isOpen({ Host }), await isOpen(page)]).toEqual(Array(2).fill(expected === 'open'));
  });

  const origins = ['http://203.0.113.9:PORT', 'http://localhost:3001', 'https://evil.example', 'null'];
  test.each(origins)('are closed to a page of %j, and say why as other errors do', async (template) => {
    const headers = { Host: `127.0.0.1:${port()}`, Origin: template.replace('PORT', port()), Authorization };
    expect(await isOpen(headers)).toBe(false);
    const why = expect.stringContaining('pages of other origins');
    const control = await askGuarded('POST', '/_mock/reset', headers);
    expect(control.json).toEqual({ error: why });
    const api = await askGuarded('GET', '/v2/webhooks', headers);
    expect(api.json).toEqual({ errors: [{ code: 'forbidden', description: why }] });
    expect([...control.headers.keys(), ...api.headers.keys()].join()).not.toContain('access-control');
  });
});

test('a mock is open under the names that it was given, on their port or any', async () => {
  const mock = await MockProvider.start({
    port: 0,
    host: 'localhost',
    names: ['Mock', 'proxy.example:8443'],
  });
  const { port } = new URL(mock.url);
  for (const Host of [`localhost:${port}`, `mock:${port}`, 'MOCK', 'mock:443', 'proxy.example:8443'])
    expect(await isOpen({ Host, Origin: `https://${Host}` }, mock.url)).toBe(true);
  for (const Host of ['proxy.example', `other:${port}`]) expect(await isOpen({ Host }, mock.url)).toBe(false);
  await mock.close();
});
