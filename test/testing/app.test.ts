import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { defineApp, defineHandlers, fail } from '../../src/index.ts';
import { type KitOptions, testReceiver } from '../../src/testing/index.ts';

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
  const open = 'open https://shop.test 7';
  expect(told).toEqual([open, 'offer M', 'abort', 'close', open, 'abort', 'close']);
});

test('handlers of one file get what they expect of ctx.app from `resources`', async () => {
  const handlers = defineHandlers<{ offer: (id: string) => void }>({
    media_available: (event, ctx) => ctx.app.offer(event.media_id),
  });
  const offered: string[] = [];
  const kit = await testReceiver({ handlers, resources: { offer: (id: string) => void offered.push(id) } });
  await kit.deliver('media_available', { media_id: 'M' });
  await kit.settled();
  expect(offered).toEqual(['M']);
  await kit.stop();
});

test('a process that crashes closes nothing before the next one has started', async () => {
  const kit = await begin();
  await kit.crash();
  await expect(kit.page('/app')).rejects.toThrow('the receiver has crashed');
  await kit.restart();
  expect(told).toEqual(['open https://shop.test 3', 'open https://shop.test 3']);
  await kit.stop(); // leaves nothing open
  expect(told.filter((what) => what === 'close')).toHaveLength(2);
});

test('timers and dates of start go by the time of the test, those of handlers do not, and a crash ends them', async () => {
  const swept: string[] = [];
  const sweeping = defineApp({
    start({ states }) {
      const sweep = async () => {
        const found = await Array.fromAsync(states('media', 'left'));
        swept.push(`${new Date().toISOString().slice(11, 16)} ${found.length}`);
      };
      const hourly = setInterval(sweep, 3_600_000).unref();
      setTimeout(() => clearInterval(hourly), 9_000_000);
      clearTimeout(setTimeout(sweep, 1));
      return { app: { sweep } };
    },
    handlers: {
      async media_available(_event, ctx) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        ctx.state.set('left', Date.now() - ctx.receivedAt.getTime() > 1000);
      },
    },
  });
  const before = [setTimeout, setInterval, clearTimeout, clearInterval, Date];
  {
    await using kit = await testReceiver({ app: sweeping });
    await kit.deliver('media_available', { media_id: 'M' });
    await kit.settled();
    expect(await kit.state('media:M')).toEqual({ left: true });
    await kit.advance('4h');
    expect(swept).toEqual(['01:00 1', '02:00 1']);
    await kit.restart();
    await kit.advance('1h');
    await kit.crash();
    await kit.advance('2h');
    expect(swept).toEqual(['01:00 1', '02:00 1', '05:00 1']);
  }
  expect([setTimeout, setInterval, clearTimeout, clearInterval, Date]).toEqual(before);
});

test.each([
  [{ settings: {} }, 'settings of testReceiver has 1 mistake:\n  SHOP_URL: is not set'],
  [{ settings: { ...settings, SHOP_SITE: '1' } }, 'there is no setting SHOP_SITE'],
  [{ handlers: {} }, 'has both `app` and `handlers`'],
  [{ app: Promise.resolve({ handlers: {} }) }, 'has a promise as `app`: await it'],
  [{ app: defineApp({ limits: { cms: 2 }, handlers: {} }) }, 'has a limit for cms, but the kinds are '],
  [
    { app: defineApp({ start: () => Promise.reject(new Error('no shop')), handlers: {} }), settings: {} },
    'the start of the app failed: Error: no shop',
  ],
])('what does not fit the app, %j, is refused', async (options, message) => {
  const before = setTimeout;
  await expect(begin(options as Partial<KitOptions>)).rejects.toThrow(message);
  expect(setTimeout).toBe(before); // nothing of it is left
});

test('limits and onDead of an app hold, too', async () => {
  const running: string[] = [];
  const most: number[] = [];
  const dead: unknown[] = [];
  const limited = defineApp({
    limits: { track_created: 2 },
    async onDead(event, { error, attempts }) {
      await setImmediate();
      dead.push([event.media_id, error, attempts]);
    },
    handlers: {
      async track_created({ media_id }) {
        most.push(running.push(media_id));
        await setImmediate();
        running.pop();
        return media_id === 'M3' ? fail('never') : undefined;
      },
    },
  });
  await using kit = await testReceiver({ app: limited });
  for (let media = 0; media < 7; media++) await kit.deliver('track_created', { media_id: `M${media}` });
  await kit.settled();
  expect(Math.max(...most)).toBe(2);
  expect(dead).toEqual([['M3', 'never', 1]]);
});
