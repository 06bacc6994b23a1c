import { expect, test } from '@jest/globals';
import { runHostile } from '../support/run-hostile.ts';
import { size } from '../support/sizes.ts';

const SEED = 20_260_101;
const RUNS = size({ small: 5, full: 15 });

test('a process goes on, every event ends by its own attempts, all can be shown and no lane is blocked, when handlers return, throw, pass and leave behind anything', async () => {
  const ended = await runHostile(RUNS, SEED);
  expect(ended).toEqual({ seed: SEED, stderr: '', stdout: `${RUNS} runs\n`, code: 0 });
});
