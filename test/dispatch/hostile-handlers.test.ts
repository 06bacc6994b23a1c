import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const script = fileURLToPath(new URL('../support/hostile-handlers.ts', import.meta.url));

test('a process goes on, every event ends by its own attempts, and no lane is blocked, whatever handlers return, throw, pass and leave behind', () => {
  const told = execFileSync(process.execPath, [script], { encoding: 'utf8' });
  expect(told).toMatch(/^\d{3} handlers\n$/);
});
