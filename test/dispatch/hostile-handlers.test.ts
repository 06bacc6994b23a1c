import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const child = fileURLToPath(new URL('../support/hostile-handlers.ts', import.meta.url));
const SEED = 20_260_101;
const RUNS = 15;

test('a process goes on, every event ends by its own attempts, all can be shown and no lane is blocked, when handlers return, throw, pass and leave behind anything', async () => {
  const run = spawn(process.execPath, [child, String(RUNS), String(SEED)]);
  const [stdout, stderr, code] = await Promise.all([
    text(run.stdout),
    text(run.stderr),
    new Promise<number | null>((resolve) => run.once('exit', resolve)),
  ]);
  expect(stderr).toBe('');
  expect([code, stdout]).toEqual([0, `${RUNS} runs\n`]);
});
