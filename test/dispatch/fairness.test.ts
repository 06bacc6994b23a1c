import { describe, expect, test } from '@jest/globals';
import { Wanted } from '../../src/dispatch/wanted.ts';
import { eachWithStage } from './stage.ts';

const stage = eachWithStage();
const NOBODY: ReadonlySet<string> = new Set();

test('a new event is handled within about a second behind a backlog, and the backlog keeps three of four handlers', async () => {
  const { clock, record, start, pass, event } = stage();
  for (let media = 0; media < 400; media++) await record({ media_id: `old-${media}` });
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
});

describe('a claim', () => {
  test('takes the newest with every fourth slot, when one handler is free at a time and there is a backlog', () => {
    const wanted = new Wanted(1);
    const asked = Array.from({ length: 8 }, () => {
      wanted.backlog();
      return wanted.take(1, NOBODY);
    });
    const shares = asked.map((one) => [one?.oldest, one?.newest]);
    expect(shares).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
      [0, 1],
      [1, 0],
      [1, 0],
      [1, 0],
      [0, 1],
    ]);
  });
});
