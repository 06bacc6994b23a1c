import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, jest, test } from '@jest/globals';
import { endAfterSuite } from '../jest/left-behind.ts';
import { suitesImporting } from '../jest/suites-importing.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';

jest.setTimeout(1_800_000);

const root = join(import.meta.dirname, '../..');

/** Pages are the same in a browser, whatever the engine. */
const isInBrowser = (path: string) => path.includes('/test/browser/');

await describeWithPostgres('the tests of scenarios, commands, API, pages and metrics', () => {
  test('pass on PostgreSQL, when they are those that npm test runs on SQLite', async () => {
    const suites = suitesImporting('support/engine.ts').filter((path) => !isInBrowser(path));
    expect(suites.length).toBeGreaterThan(70);
    const { TEST_SIZE: _, ...env } = process.env;
    const program = join(root, 'node_modules/jest/bin/jest.js');
    const child = spawn(process.execPath, [program, '--maxWorkers=2', '--runTestsByPath', ...suites], {
      cwd: root,
      env: { ...env, TEST_ENGINE: 'postgres' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    endAfterSuite(() => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await exited;
    expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' });
  });
});
