import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { defineApp } from '../../src/index.ts';
import { everyCrash, type KitOptions, testReceiver } from '../../src/testing/index.ts';

/** What the app of these tests did, in order. */
const told: string[] = [];

const app = defineApp({
  settings: z.object({ SHOP_URL: z.url(), SHOP_SIZE: z.coerce.number().default(3) }),
  start({ settings, signal }) {
    told.push(`open ${settings.SHOP_URL} ${settings.SHOP_SIZE}`);
    signal.addEventListener('abort', () => told.push('abort'));
    return {
      app: { offer: async (id: string) => void told.push(`offer ${id}`) },
      close: () => void told.push('close'),
    };
  },
  handlers: {
    async media_available(event, ctx) {
      await ctx.app.offer(event.media_id);
      ctx.state.set('offered', ctx.attempt);
    },
  },
  routes(router, { state, settings }) {
    router.get(
      '/offered',
      async (_req, res) => void res.json({ url: settings.SHOP_URL, ...(await state('media:M')) }),
    );
    router.get('/broken', () => {
      throw new Error('no such view');
    });
  },
});

const settings = { SHOP_URL: 'https://shop.test' };
const begin = (options: Partial<KitOptions> = {}) => {
  told.length = 0;
  return testReceiver({ app, settings, ...options });
};

test('the app starts whenever the process does, and ends with it', async () => {
  const kit = await begin({ settings: { ...settings, SHOP_SIZE: '7' } });
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  await kit.restart();
  await kit.stop();
  expect(told).toEqual([
    'open https://shop.test 7',
    'offer M',
    'abort',
    'close',
    'open https://shop.test 7',
    'abort',
    'close',
  ]);
});

test('a process that crashes closes nothing before the next one has started', async () => {
  const kit = await begin();
  await kit.crash();
  await kit.restart();
  expect(told).toEqual(['open https://shop.test 3', 'open https://shop.test 3']);
  await kit.stop(); // leaves nothing open
  expect(told.filter((what) => what === 'close')).toHaveLength(2);
});

test('handlers have what the test gives in place of what start opens, and start does not run', async () => {
  const offered: string[] = [];
  const resources = { offer: async (id: string) => void offered.push(id) };
  await using kit = await begin({ resources });
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  expect({ offered, told }).toEqual({ offered: ['M'], told: [] });
});

test('pages show what handlers left, and one that throws is answered with 500 and logged', async () => {
  await using kit = await begin();
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  expect(JSON.parse((await kit.page('/app/offered')).body)).toEqual({ url: 'https://shop.test', offered: 1 });
  expect((await kit.page('/app/none')).status).toBe(404);
  expect((await kit.page('/app/broken')).status).toBe(500);
  expect(kit.log().find(({ msg }) => msg === 'a page of the app failed')).toMatchObject({
    path: '/app/broken',
  });
  await kit.crash();
  await expect(kit.page('/app/offered')).rejects.toThrow('the receiver has crashed');
});

test('pages are as on the admin listener: its answer where nothing is, and what forms send', async () => {
  const forms = defineApp({
    handlers: {},
    routes(router) {
      router.post('/form', (req, res) => void res.json(req.body));
      router.get('/never', () => {});
    },
  });
  await using kit = await testReceiver({ app: forms, patienceMs: 50 });
  const sent = await kit.page('/app/form', {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'name=x',
  });
  expect(sent).toMatchObject({ status: 200, body: '{"name":"x"}', headers: { 'cache-control': 'no-store' } });
  expect(sent.headers['x-powered-by']).toBeUndefined();
  expect(await kit.page('/app/none')).toMatchObject({ status: 404, body: 'there is nothing here\n' });
  await expect(kit.page('/app/never')).rejects.toThrow('GET /app/never has not answered in 50 ms');
  await expect(kit.page('board')).rejects.toThrow('pages of the app begin with /app, not as board');
});

test('a state is that of a media or of a channel', async () => {
  const wrong = defineApp({
    handlers: {},
    routes(router, { state }) {
      router.get('/state', async (_req, res) => void res.json(await state('UUhbHm6C')));
    },
  });
  await using kit = await testReceiver({ app: wrong });
  expect((await kit.page('/app/state')).status).toBe(500);
  expect(JSON.stringify(kit.log())).toContain("state('media:ID') or state('channel:ID'), not 'UUhbHm6C'");
});

test('an app without routes has no pages, and says so', async () => {
  await using kit = await testReceiver({ handlers: {} });
  await expect(kit.page('/app/')).rejects.toThrow('the app has no routes');
});

test('an app is played with every crash, as handlers are', async () => {
  const points = await everyCrash(
    async (start) => {
      const kit = await start({ app, settings });
      await kit.deliver('media_available', { media_id: 'M' });
    },
    async (kit) => expect(Object.keys(await kit.state('media:M'))).toEqual(['offered']),
  );
  expect(points.length).toBeGreaterThan(3);
});

test.each([
  [{ settings: {} }, 'settings of testReceiver has 1 mistake:\n  SHOP_URL: is not set'],
  [{ settings: { SHOP_URL: 'none' } }, 'SHOP_URL: the given value (not shown) is not valid'],
  [
    { settings: { ...settings, SHOP_SITE: '1' } },
    'there is no setting SHOP_SITE: the app has SHOP_URL, SHOP_SIZE, and .env.example lists the others',
  ],
  [{ handlers: {} }, 'testReceiver takes either { handlers } or { app }'],
  [
    { app: defineApp({ start: () => Promise.reject(new Error('no shop')), handlers: {} }), settings: {} },
    'the start of the app failed: Error: no shop',
  ],
])('what does not fit the app, %j, is refused', async (options, message) => {
  await expect(begin(options as Partial<KitOptions>)).rejects.toThrow(message);
});
