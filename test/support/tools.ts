import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe } from '@jest/globals';

/** The compiler, as a program for Node. */
export const tsc = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);

function isThere(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** `describe`, where a program is installed; else its tests are skipped, and a line says so. */
export function describeWith(program: string, name: string, tests: () => void): void {
  if (isThere(program)) return void describe(name, tests);
  process.stderr.write(`skipped, as there is no ${program} (apt-get install it): ${name}\n`);
  describe.skip(name, tests);
}
