import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { runHostile } from '../support/run-hostile.ts';

const RUNS = 300;

test('a process goes on, every event ends by its own attempts and no lane is blocked, when handlers do anything, for long and by another seed each time', async () => {
  const seed = randomInt(2 ** 31);
  expect(await runHostile(RUNS, seed)).toEqual({
    seed,
    stderr: '',
    stdout: expect.stringMatching(`^[1-9]\\d{2} scripts, ${RUNS} runs\n$`),
    code: 0,
  });
}, 600_000);
