import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, test } from '@jest/globals';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
const snippets = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);

const root = new URL('../../', import.meta.url);

let directory: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  symlinkSync(new URL('node_modules', root), join(directory, 'node_modules'));
});

/**
 * Runs tests of handlers as `npm run test:handlers` does, from files beside the project: Node has the project's own compiled.
 * @returns what it printed; the error of the process if one fails
 */
async function runTests(files: Readonly<Record<string, string>>): Promise<string> {
  const paths = Object.entries(files).map(([name, code]) => {
    const path = join(directory, name);
    const placed = code
      .replaceAll("'webhook-receiver-kit/testing'", `'${root}src/testing/index.ts'`)
      .replaceAll("'webhook-receiver-kit'", `'${root}src/index.ts'`);
    writeFileSync(path, placed);
    return path;
  });
  // Node tells its tests that they are run by a test already.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--test', '--test-isolation=none', ...paths],
    { env },
  );
  expect(stderr).toBe('');
  return stdout;
}

test('npm run test:handlers runs the tests that stand beside the handlers', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  expect(scripts['test:handlers']).toBe('node --test "src/handlers/**/*.test.ts"');
});

test('the tests of docs/testing.md pass, when each is a file of src/handlers/', async () => {
  expect(snippets).toHaveLength(5);
  const files = Object.fromEntries(snippets.map((code, index) => [`${index}.test.ts`, code]));
  const printed = await runTests(files);
  expect(printed).toMatch(/tests 5\n.*suites 0\n.*pass 5\n.*fail 0\n/);
});

test('a test of handlers that fails says so, with the history of docs/testing.md, and fails the run', async () => {
  const code = snippets.at(-1) ?? '';
  const byLateAlone = code.replaceAll('isNewest(ctx, event.event_time)', '!ctx.late');
  expect(byLateAlone).not.toBe(code);
  const failed = runTests({ 'late.test.ts': byLateAlone });
  const { stdout } = await failed.then(
    () => ({ stdout: 'it passed' }),
    (error) => error,
  );
  const [, history = 'none'] =
    /it is this one:\n\n```\n(.*?)```/s.exec(page.replace('\nit is', ' it is')) ?? [];
  const lines = (text: string) => text.split('\n').map((line) => line.trim());
  expect(lines(stdout)).toEqual(expect.arrayContaining(lines(history)));
});
