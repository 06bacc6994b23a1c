import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

/** Programs of the kit, servers of the benchmark and what fills databases open the same files in these, and commands that others do not run. */
const SECTIONS = ['stored', 'files', 'restart'];

test.each(SECTIONS)(
  'the section %s of the benchmark runs to its end, when little is measured',
  async (section) => {
    const args = ['bench/run.ts', '--quick', '--events', '3000', section];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toMatch(/^## .+\n\n.+1 round\.\n\n\|/);
  },
);
