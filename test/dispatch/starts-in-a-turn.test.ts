import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { eachWithStage } from '../support/dispatch-stage.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());

const EVENTS = 600;
/** So many handlers start in a turn of the event loop; a look at the turns may see those of two. */
const IN_TURN = 16;

let turn: number;
let isOver: boolean;
beforeEach(() => {
  turn = 0;
  isOver = false;
  const next = () => {
    turn++;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
});
afterEach(() => {
  isOver = true;
});

/** Has handlers for all of many events start at once. @returns how many did in each turn */
async function startsAfter(came: number): Promise<number[]> {
  const { store, start, quiet } = stage();
  const starts: number[] = [];
  const handlers = defineHandlers({
    media_available: () => {
      starts[turn] = (starts[turn] ?? 0) + 1;
    },
  });
  const { dispatcher } = await start(handlers, { concurrency: EVENTS });
  await Promise.all(
    Array.from({ length: EVENTS }, (_, number) =>
      store.record(verified({ media_id: `media-${number}`, at: EVENT_TIME + number })),
    ),
  );
  for (let event = 0; event < came; event++) dispatcher.wakeSoon();
  dispatcher.wake();
  await quiet();
  expect(await store.count({ status: 'handled' })).toBe(EVENTS);
  return starts.filter((started) => started > 0);
}

test('few handlers start in a turn of the event loop, when few events came', async () => {
  const starts = await startsAfter(10);
  expect(Math.max(...starts)).toBeLessThanOrEqual(2 * IN_TURN);
});

test('as many handlers start in a turn of the event loop as events came, when many did', async () => {
  const [first] = await startsAfter(300);
  expect(first).toBeGreaterThanOrEqual(300);
});
