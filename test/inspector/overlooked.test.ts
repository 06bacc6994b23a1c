import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

let inspected: Inspected;
let id: string;

beforeAll(async () => {
  inspected = await inspect({ media_available() {} });
  await inspected.deliver(notification());
  await inspected.settled();
  id = (await inspected.api('/events')).events[0].id;
});
afterAll(() => inspected.dispose());

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const REPLAY = '0b0e7a4e-94e4-4d33-8f0a-2f7ed1d24a4e';

async function post(path: string, body: string, type: string) {
  const headers = {
    'content-type': type,
    origin: inspected.url,
    'content-length': `${Buffer.byteLength(body)}`,
  };
  return inspected.raw(path.replace(':id', id), { method: 'POST', headers, body });
}

const replays = async () => (await inspected.service.store.event(id))?.replays;

describe('a replay over the API', () => {
  test.each([
    ['/events/replay', { kind: 'media_available', dryRun: true }, ['"dryRun"']],
    ['/events/replay', { all: true, dryRun: '' }, ['"dryRun"']],
    ['/events/replay', { status: 'handled', Site: 'nowhere', until_: '2026' }, ['"Site"', '"until_"']],
    ['/events/replay?dryRun=true', { all: true }, ['"dryRun"']],
    ['/events/replay?knd=', { all: true }, ['"knd"']],
    ['/events/replay', { all: true, 'a\u202e\n': 1 }, ['"a\\u202e\\n"']],
    ['/events/:id/replay', { resetSteps: true }, ['"resetSteps"']],
    ['/events/:id/replay', { dry_run: true }, ['"dry_run"']],
    ['/events/:id/replay', { id: 'abc-0123456789abcdef0123' }, ['"id"']],
    ['/events/:id/replay?dry_run=1', {}, ['"dry_run"']],
  ])(
    'is refused, when POST %s gets %j, with 400 that names %j, and nothing is replayed',
    async (path, body, names) => {
      const answer = await post(`/api${path}`, JSON.stringify(body), JSON_TYPE);
      expect(answer.status).toBe(400);
      const { error } = JSON.parse(answer.body);
      expect(error).toMatch(/^unknown: .*; known are .*\breset_steps\b/);
      expect(error.slice('unknown: '.length).split('; ')[0]).toBe(names.join(', '));
      expect(await replays()).toBe(0);
    },
  );

  test('is refused, when JSON itself has a member __proto__, with 400', async () => {
    const answer = await post('/api/events/replay', '{"all":true,"__proto__":{"dry_run":true}}', JSON_TYPE);
    expect(answer).toMatchObject({ status: 400, body: expect.stringContaining('__proto__') });
    expect(await replays()).toBe(0);
  });

  test.each([
    ['{"dry_run":true}', FORM_TYPE, 'Content-Type'],
    ['dry_run=true', FORM_TYPE, 'Content-Type'],
    ['{"dry_run":true}', 'text/plain', 'Content-Type'],
    ['[]', JSON_TYPE, 'object'],
    ['[{"dry_run":true}]', JSON_TYPE, 'object'],
  ])('is refused, when its body is %s as %s, with 400', async (body, type, word) => {
    const answer = await post('/api/events/replay?status=handled', body, type);
    expect(answer).toMatchObject({ status: 400, body: expect.stringContaining(word) });
    expect(await replays()).toBe(0);
  });

  test('is refused, when its query gives a filter twice, with 400', async () => {
    const answer = await post('/api/events/replay?kind=media_created&kind=media_available', '{}', JSON_TYPE);
    expect(answer).toMatchObject({
      status: 400,
      body: expect.stringContaining('more than once: \\"kind\\"'),
    });
    expect(await replays()).toBe(0);
  });

  test('is described so, when a client reads the description', async () => {
    const { paths } = await inspected.api('/openapi.json');
    for (const path of ['/api/events/replay', '/api/events/{id}/replay']) {
      const { schema } = paths[path].post.requestBody.content[JSON_TYPE];
      expect(schema.additionalProperties).toBe(false);
    }
  });
});

describe('a replay by a form', () => {
  test.each([
    ['/events/replay', `replay=${REPLAY}&knd=channel_active`, '"knd"'],
    ['/events/replay', `replay=${REPLAY}&dry_run=`, '"dry_run"'],
    ['/events/replay?kind=channel_active', `replay=${REPLAY}`, '"kind"'],
    ['/events/:id/replay', 'resetSteps=on', '"resetSteps"'],
    ['/events/:id/replay?reset_steps=on', '', '"reset_steps"'],
  ])(
    'is refused, when POST %s gets %s, with 400 that names it, and nothing is replayed',
    async (path, body, name) => {
      const answer = await post(path, body, FORM_TYPE);
      expect(answer).toMatchObject({ status: 400, body: expect.stringContaining(`unknown: ${name}`) });
      expect(await replays()).toBe(0);
    },
  );
});

describe('a question to the API', () => {
  const routes: [path: string, known: string][] = [
    ['/events', 'kind, status, site, resource, webhook, since, until, q, before, limit'],
    ['/channels', 'state, after, limit'],
    ['/events/:id', 'none'],
    ['/rejections', 'none'],
    ['/quarantine', 'none'],
    ['/webhooks', 'none'],
    ['/stats', 'none'],
    ['/stream', 'none'],
    ['/openapi.json', 'none'],
  ];
  const get = (path: string) => inspected.raw(`/api${path.replace(':id', id)}`);
  const refusal = (error: string) => ({ status: 400, body: JSON.stringify({ error }) });

  test('is asked of each route, when this table lists them', async () => {
    const { paths } = await inspected.api('/openapi.json');
    const described = Object.keys(paths).filter((path) => paths[path].get);
    const listed = routes.map(([path]) => `/api${path.replace(':id', '{id}')}`);
    expect(listed.toSorted()).toEqual([...described, '/api/openapi.json'].toSorted());
  });

  test.each(routes)(
    'is refused, when GET %s gets an unknown parameter, also an empty one, with 400 that names it and lists: %s',
    async (path, known) => {
      const names = ['nosuch', 'status[]', 'Kind', 'id', '__proto__'];
      for (const name of names) {
        expect(await get(`${path}?${name}=dead`)).toMatchObject(
          refusal(`unknown: "${name}"; known are ${known}`),
        );
        expect(await get(`${path}?${name}`)).toMatchObject({ status: 400 });
      }
    },
  );

  test.each(routes.filter(([, known]) => known !== 'none'))(
    'is refused, when GET %s gets any of its parameters twice, with 400 that names it and lists: %s',
    async (path, known) => {
      for (const name of known.split(', ')) {
        for (const query of [`${name}=&${name}=`, `${name}=1&${name}=1`, `${name}&${name}=2026-01-01`])
          expect(await get(`${path}?${query}`)).toMatchObject(
            refusal(`given more than once: "${name}"; known are ${known}`),
          );
      }
    },
  );

  test('is answered, when a page, which reads its own addresses, passes over what it does not know', async () => {
    for (const path of ['/events?knd=channel_active', '/?x=1', '/channels?x=1'])
      expect(await inspected.raw(path)).toMatchObject({ status: 200 });
  });
});
