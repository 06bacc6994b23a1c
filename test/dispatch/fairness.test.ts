import { describe, expect, test } from '@jest/globals';
import { Wanted } from '../../src/dispatch/wanted.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll, waiting } from '../support/claiming.ts';
import { eachWithStage } from './stage.ts';

const stage = eachWithStage();
const NOBODY: ReadonlySet<string> = new Set();

/** Makes of recorded events a backlog of another sort. */
const backlogs: Readonly<Record<string, (store: EventStore) => Promise<unknown>>> = {
  'events that came before': async () => {},
  'a bulk replay': async (store) => {
    await settleAll(store, HANDLED);
    await store.replay({});
  },
  'a wave of retries': (store) => settleAll(store, waiting(1)),
};

test.each(Object.keys(backlogs))(
  'a new event is handled within about a second behind %s, which keeps three of four handlers',
  async (backlog) => {
    const { clock, store, record, start, pass, event } = stage();
    for (let media = 0; media < 400; media++) {
      await record({ media_id: `old-${media}` });
      await clock.advance(1);
    }
    await backlogs[backlog]?.(store);
    await clock.advance(60_000);
    const ended: string[] = [];
    const media_available = async ({ media_id }: { media_id: string }) => {
      await new Promise((resolve) => clock.after(200, () => resolve(undefined)));
      ended.push(media_id);
    };
    const { dispatcher } = await start({ media_available }, { DISPATCH_CONCURRENCY: '4' });
    await pass(1000);
    for (let media = 0; media < 5; media++) {
      const media_id = `new-${media}`;
      const id = await record({ media_id });
      dispatcher.came(`media:${media_id}`);
      await pass(1000);
      expect(await event(id)).toMatchObject({ status: 'handled' });
    }
    const newest = ended.slice(0, 100).filter((id) => /^old-[23]\d\d$/.test(id));
    expect(ended.length).toBeGreaterThan(100); // 4 handlers, 5 a second each
    expect(newest.length).toBeGreaterThan(15);
    expect(newest.length).toBeLessThanOrEqual(25);
    expect(ended.slice(0, 4)).toContain('old-0');
  },
);

describe('a claim', () => {
  test('takes the newest with every fourth slot, when one handler is free at a time and there is a backlog', () => {
    const wanted = new Wanted(1);
    const asked = Array.from({ length: 8 }, () => {
      wanted.backlog();
      return wanted.take(1, NOBODY);
    });
    expect(asked.map((one) => one?.newest)).toEqual([0, 0, 0, 1, 0, 0, 0, 1]);
    expect(asked.map((one) => one?.oldest)).toEqual([1, 1, 1, 0, 1, 1, 1, 0]);
  });
});
