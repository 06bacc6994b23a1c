import { expect, test } from '@jest/globals';
import { replayLast } from '../../src/dev/keys.ts';
import { tellingEnds } from '../../src/dev/stage.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { runService } from '../support/running-service.ts';

test('r has the last events handled again, R their steps too, and each end is told in a line', async () => {
  const told: string[] = [];
  let [runs, steps] = [0, 0];
  const handlers = tellingEnds(
    {
      async media_available(_event, ctx) {
        await ctx.once('step', () => void steps++);
        runs++;
      },
    },
    (text) => void told.push(text),
  );
  const service = await runService(handlers);
  await deliver(service.url, bodyOf(1));
  for (const [options, expected] of [
    [undefined, [1, 1]],
    [{}, [2, 1]],
    [{ resetSteps: true }, [3, 2]],
  ] as const) {
    if (options) expect(await replayLast(service, options)).toBe(1);
    await eventually(
      'it has run',
      async () => (await service.store.count({ status: 'handled' })) === 1 && runs === expected[0],
    );
    expect([runs, steps]).toEqual(expected);
  }
  expect(told[0]).toMatch(/^media_available media1 handled in \d+ ms$/);
  await service.stop();
});
