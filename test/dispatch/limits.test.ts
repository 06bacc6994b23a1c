import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import { defineApp } from '../../src/index.ts';
import { onEachEngine } from '../store/stages.ts';
import { eventually } from '../support/eventually.ts';
import { logLines } from '../support/log-lines.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

onEachEngine('limits', (stage) => {
  test('bound the handlers of a kind in each process, hold up no others, and keep the order of each media', async () => {
    const order: string[] = [];
    const held = Promise.withResolvers<void>();
    const start = async () => {
      const counts = { running: 0, most: 0 };
      const limited = async (event: object & { event?: unknown; media_id?: unknown }) => {
        counts.most = Math.max(counts.most, ++counts.running);
        await held.promise;
        counts.running--;
        order.push(`${event.event} ${event.media_id}`);
      };
      const app = defineApp({
        limits: { cms: { kinds: ['track_created', 'unknown'], most: 2 } },
        handlers: {
          track_created: limited,
          unknown: limited,
          media_available: (event) => void order.push(`${event.event} ${event.media_id}`),
        },
      });
      const store = await stage.another({ clock: systemClock });
      const config = parseConfig({ DISPATCH_CONCURRENCY: '8' });
      const { log } = logLines();
      const dispatcher = new Dispatcher({ config, store, app, log, clock: systemClock, random: Math.random });
      store.onRecorded = (resource) => dispatcher.came(resource);
      dispatcher.start();
      return { store, dispatcher, counts };
    };
    const record = (event: string, media: string, seconds = 0) =>
      stage.store.record(
        verified({ event, media_id: media, track_id: 't', at: EVENT_TIME + 1000 * seconds }),
      );
    const tracks = Array.from({ length: 200 }, (_, number) => `track-${number}`);
    for (const media of tracks)
      await record(Number(media.slice(6)) % 2 ? 'track_created' : 'media_exploded', media);
    await record('media_available', 'track-0', 1);
    const others = Array.from({ length: 20 }, (_, number) => `other-${number}`);
    for (const media of others) await record('media_available', media);
    const started = [await start(), await start()];
    await eventually('the others are handled', () => order.length === others.length);
    for (const media of others)
      await started[0]?.store.record(verified({ event: 'media_available', media_id: `${media}-later` }));
    await eventually('those that come are handled', () => order.length === 2 * others.length);
    expect(order.filter((handled) => !/^media_available other-/.test(handled))).toEqual([]);
    await eventually('each process runs two', () => started.every(({ counts }) => counts.running === 2));
    held.resolve();
    await eventually('all are handled', () => order.length === tracks.length + 1 + 2 * others.length);
    expect(started.map(({ counts }) => counts.most)).toEqual([2, 2]);
    expect(order.indexOf('media_available track-0')).toBeGreaterThan(order.indexOf('media_exploded track-0'));
    for (const { dispatcher } of started) await dispatcher.stop(1000);
  });
});
