import { mediaId } from '../fill.ts';
import { idleDispatcher } from './dispatch-all.ts';
import { openOurs, recordOne } from './our-store.ts';
import { runSteadily, steadyOptions } from './steady.ts';

/** How many media the events are of, in turn: each has about ten in ten minutes. */
const MEDIA = 50_000;

// Events as the receiver records them, each by itself, handled 16 at once by the same process.
const options = steadyOptions();
const store = await openOurs(options.url);
const began = Date.now();
const numbers = new Map<string, number>();

await runSteadily(options, {
  add: (added) =>
    Promise.all(
      added.map((n) => {
        const time = began + Math.floor((n * 1000) / options.perSecond);
        numbers.set(`${mediaId(n % MEDIA)} ${time}`, n);
        return recordOne(store, n % MEDIA, time);
      }),
    ),
  start: async (ran) => {
    const dispatcher = idleDispatcher(store, {
      handlers: {
        media_updated: ({ media_id, event_time }) => {
          const key = `${media_id} ${Date.parse(event_time)}`;
          const n = numbers.get(key);
          if (n !== undefined) ran(n);
          numbers.delete(key);
        },
      },
    });
    dispatcher.start();
    store.watch(() => dispatcher.wakeSoon()); // as the service does, so that no event waits for a poll
  },
});
