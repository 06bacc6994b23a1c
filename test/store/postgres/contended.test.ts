import { expect, test } from '@jest/globals';
import type { EventStore } from '../../../src/store/event-store.ts';
import { claims, HANDLED } from '../../support/claiming.ts';
import { postgresFixture } from '../../support/postgres-fixture.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { size } from '../../support/sizes.ts';
import { eachWithStore } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

// A statement that waited for a lane's lock, or was overtaken, sees the lane as it is then, and what it joins to it as it was before.
// So a claim in one statement gets events again that another process has settled meanwhile.

const EVENTS = size({ small: 120, full: 10_000 });
const RESOURCES = 6;
/** Processes, and dispatchers of each. */
const STORES = 3;
const DISPATCHERS = 2;
/** Less than there are lanes, so that each claim leaves some to the others. */
const LIMIT = 3;

await describeWithPostgres('events of resources that several processes contend for', (server) => {
  const fixture = eachWithStore(postgresFixture(server));

  test('are claimed once each, in their order, and never after their end, when each claim meets those of the others', async () => {
    const { store, open } = fixture();
    const stores = [store];
    while (stores.length < STORES) stores.push(await open());
    const numbers = Array.from({ length: EVENTS }, (_, number) => number);
    await Promise.all(
      numbers.map((number) =>
        store.record(verified({ media_id: `media-${number % RESOURCES}`, at: EVENT_TIME + number * 1000 })),
      ),
    );
    const last = new Map<string, number>();
    const wrong: string[] = [];
    let ended = 0;
    const dispatch = async (one: EventStore, owner: string) => {
      for (let turn = 0; ended < EVENTS && wrong.length === 0; turn++) {
        const isAhead = turn % 4 > 0;
        const got = await claims(one, { owner, limit: LIMIT, newest: turn % 2, has: [], isAhead });
        for (const { resource, eventTime, starts } of got) {
          if (starts !== 1 || eventTime <= (last.get(resource) ?? 0))
            wrong.push(`${resource} ${eventTime} in start ${starts}, after ${last.get(resource)}`);
          last.set(resource, eventTime);
        }
        const isHeld = await Promise.all(got.map((claim) => one.settle(claim, owner, HANDLED)));
        ended += isHeld.filter(Boolean).length;
        if (isHeld.includes(false)) wrong.push(`of ${JSON.stringify(got)} not all were held`);
      }
    };
    await Promise.all(
      stores.flatMap((one, process) =>
        Array.from({ length: DISPATCHERS }, (_, number) => dispatch(one, `process ${process} ${number}`)),
      ),
    );
    expect(wrong).toEqual([]);
    expect(ended).toBe(EVENTS);
    expect(await store.count({ status: 'handled' })).toBe(EVENTS);
  });
});
