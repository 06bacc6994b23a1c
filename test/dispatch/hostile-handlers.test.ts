import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { runHostile } from '../support/run-hostile.ts';
import { size } from '../support/sizes.ts';

const RUNS = size({ small: 5, full: 100 });

test('a process goes on, every event ends by its own attempts, all can be shown and no lane is blocked, when handlers return, throw, pass and leave behind anything', async () => {
  const seed = randomInt(2 ** 31); // stands in what a failure prints
  const ended = await runHostile(RUNS, seed);
  expect(ended).toEqual({
    seed,
    stderr: '',
    stdout: expect.stringMatching(`^[1-9]\\d{2} scripts, ${RUNS} runs\n$`),
    code: 0,
  });
});
