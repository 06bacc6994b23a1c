import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Api, at, DAY, LIST, MEDIA, picture, STATUSES, startApi } from './support.ts';

let api: Api;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const upload = async (form = picture(), token = 'alice-rw') =>
  (await api.request('POST', MEDIA, { body: form, token })).body;
const schedule = async (mediaIds: unknown[], status = '') => {
  const json = { status, media_ids: mediaIds, scheduled_at: at(DAY) };
  return api.request('POST', STATUSES, { json });
};

describe('upload', () => {
  test('takes a file, when it is an image, and answers a MediaAttachment', async () => {
    const form = picture();
    form.append('description', 'a picture');
    const body = await upload(form);
    const url = expect.stringMatching(`^${api.url}/system/media_attachments/files/1/original/\\w{16}\\.png$`);
    expect(body).toEqual({
      id: '1',
      type: 'image',
      url,
      preview_url: url,
      remote_url: null,
      preview_remote_url: null,
      text_url: null,
      meta: {},
      description: 'a picture',
      blurhash: expect.any(String),
    });
    expect((await api.get(`/api/v1/media/${body.id}`)).body).toEqual(body);
  });
  test.each([
    ['image/jpeg', 'image'],
    ['image/gif', 'gifv'],
    ['video/mp4', 'video'],
    ['audio/mpeg', 'audio'],
    ['application/octet-stream', 'unknown'],
    ['', 'unknown'],
  ])('takes a file, when its type is "%s", as %s', async (type, expected) => {
    expect((await upload(picture(type))).type).toBe(expected);
  });
  test('refuses an upload, when there is no file, with 422', async () => {
    const form = new FormData();
    form.append('file', 'text');
    for (const body of [form, new URLSearchParams({ file: 'text' })]) {
      const answer = await api.request('POST', MEDIA, { body });
      expect([answer.status, answer.body.error]).toEqual([422, "Validation failed: File can't be blank"]);
    }
  });
  test('hides a file, when another asks for it, with 404', async () => {
    const { id } = await upload();
    expect((await api.get(`/api/v1/media/${id}`, { token: 'bob-rw' })).status).toBe(404);
    expect((await api.get('/api/v1/media/abc')).status).toBe(404);
  });
  test('gives the same answers, when it is reset and fed the same, to the letter', async () => {
    const other = await startApi();
    const first = await upload();
    const second = (await other.request('POST', MEDIA, { body: picture() })).body;
    other.close();
    expect(second.url.slice(other.url.length)).toBe(first.url.slice(api.url.length));
  });
});

describe('media_ids', () => {
  test('attaches files, when they are the caller’s and free, in the order given', async () => {
    const [a, b] = [await upload(), await upload()];
    const { status, body } = await schedule([b.id, a.id]);
    expect([status, body.params.media_ids, body.media_attachments]).toEqual([200, [b.id, a.id], [b, a]]);
  });
  test('echoes ids, when JSON has numbers, as numbers', async () => {
    const { id } = await upload();
    expect((await schedule([Number(id)])).body.params.media_ids).toEqual([Number(id)]);
  });
  test('echoes ids, when a form has them, as strings', async () => {
    const { id } = await upload();
    const body = new URLSearchParams([
      ['media_ids[]', id],
      ['scheduled_at', at(DAY)],
    ]);
    const answer = await api.request('POST', STATUSES, { body });
    expect([answer.body.params.media_ids, answer.body.params.text]).toEqual([[id], '']);
  });
  test('takes 4 files, when all are free, and refuses 5 with 422', async () => {
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push((await upload()).id);
    const { status, body } = await schedule(ids);
    expect([status, body]).toEqual([422, { error: 'Cannot attach more than 4 files' }]);
    expect((await schedule(ids.slice(1))).body.media_attachments).toHaveLength(4);
  });
  test.each([
    ['unknown', ['999'], '999'],
    ['no number', ['abc'], 'abc'],
    ['unknown, and several', ['998', '999'], '998, 999'],
  ])('refuses a status, when a file is %s, with 422', async (_, ids, named) => {
    const { status, body } = await schedule(ids);
    expect([status, body]).toEqual([
      422,
      { error: `Media ${named} not found or already attached to another post` },
    ]);
  });
  test('refuses a status, when a file is another user’s, with 422', async () => {
    const { id } = await upload(picture(), 'bob-rw');
    const error = `Media ${id} not found or already attached to another post`;
    expect((await schedule([id])).body).toEqual({ error });
  });
  test('refuses a status, when a file is part of a scheduled one, until that is cancelled', async () => {
    const { id } = await upload();
    const first = (await schedule([id])).body;
    const error = `Media ${id} not found or already attached to another post`;
    expect((await schedule([id])).body).toEqual({ error });
    await api.request('DELETE', `${LIST}/${first.id}`);
    expect((await schedule([id])).status).toBe(200);
  });
  test('refuses a status, when a file is part of a published one, with 422', async () => {
    const { id } = await upload();
    const published = await api.request('POST', STATUSES, { json: { media_ids: [id] } });
    expect(published.body).toMatchObject({ content: '', media_attachments: [{ id }] });
    expect((await schedule([id])).status).toBe(422);
  });
  test('leaves files free, when a status with them is refused, for the next one', async () => {
    const { id } = await upload();
    const json = { media_ids: [id], scheduled_at: at(0) };
    expect((await api.request('POST', STATUSES, { json })).status).toBe(422);
    expect((await schedule([id])).status).toBe(200);
  });
  test('refuses a status, when a video comes with other files, with 422', async () => {
    const [image, video] = [await upload(), await upload(picture('video/mp4'))];
    expect((await schedule([image.id, video.id])).body.error).toBe(
      'Cannot attach a video to a post that already contains images',
    );
    expect((await schedule([video.id])).status).toBe(200);
  });
  test.each(['1', { 0: '1' }, [['1']], [null]])(
    'ignores media_ids, when they are %j, as Rails does',
    async (sent) => {
      const json = { status: 'x', media_ids: sent, scheduled_at: at(DAY) };
      expect((await api.request('POST', STATUSES, { json })).body.params.media_ids).toBeNull();
    },
  );
});
