import { execFile } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { atFullSize, size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
const snippets = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
const MANY = size({ small: 5, full: 200 });

const root = new URL('../../', import.meta.url);

let directory: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  symlinkSync(new URL('node_modules', root), join(directory, 'node_modules'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/**
 * Runs tests of handlers as `npm run test:handlers` does, from files beside the project: Node has the project's own compiled.
 * @param isolation whether each file has a process of its own, as it has there
 * @returns what it printed; the error of the process if one fails
 */
async function runTests(
  files: Readonly<Record<string, string>>,
  isolation: 'process' | 'none' = 'none',
): Promise<string> {
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
    ['--test', `--test-isolation=${isolation}`, ...paths],
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

atFullSize(test)(`${MANY} tests of handlers leave no handle open: their process ends by itself`, async () => {
  const code = `
    import { test } from 'node:test';
    import { testReceiver } from 'webhook-receiver-kit/testing';
    test('many at once', async () => {
      const kits = await Promise.all(Array.from({ length: 15 }, () => testReceiver({ handlers: {} })));
      for (const kit of kits) await kit.stop();
    });
    for (let number = 0; number < ${MANY}; number++) {
      test('media is handled ' + number, async () => {
        await using kit = await testReceiver({ handlers: { media_created() {} } });
        kit.provider.createMedia({ site_id: kit.site });
        await kit.settled();
        const { length } = await kit.events({ status: 'handled' });
        if (length !== 1) throw new Error(length + ' handled');
      });
    }`;
  const printed = await runTests({ 'many.test.ts': code });
  expect(printed).toMatch(new RegExp(`pass ${MANY + 1}\n`));
});

atFullSize(test)(
  'a handler that ends the process fails the run, instead of the tests that were to come',
  async () => {
    const code = `
    import { test } from 'node:test';
    import { testReceiver } from 'webhook-receiver-kit/testing';
    test('ends', async () => {
      await using kit = await testReceiver({ handlers: { media_created() { process.exit(0); } } });
      await kit.deliver('media_created');
      await kit.settled();
    });`;
    await expect(runTests({ 'exit.test.ts': code }, 'process')).rejects.toMatchObject({
      stdout: expect.stringMatching(/fail 1\n/),
    });
  },
);
