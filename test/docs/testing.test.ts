import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, test } from '@jest/globals';
import { placed, type Snippet, snippetsOf } from '../support/snippets.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
const all = snippetsOf('docs/testing.md');
const ofJest = all.filter(({ code }) => code.includes("'@jest/globals'"));
const snippets = all.filter((snippet) => !ofJest.includes(snippet));
/** A file of handlers, and their test. */
const guide = snippetsOf('docs/guide.md').filter(({ file }) => /^pages\b/.test(file));

const root = new URL('../../', import.meta.url);

let directory: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  symlinkSync(new URL('node_modules', root), join(directory, 'node_modules'));
});

/** What tests print, run as by `npm run test:handlers` from files beside the project: Node has the project's own compiled. */
function failingRun(files: readonly Omit<Snippet, 'page'>[]): string {
  for (const { file, code } of files) writeFileSync(join(directory, file), placed({ code }));
  const tests = files.filter(({ code }) => code.includes("'node:test'"));
  // Node tells its tests that they are run by a test already.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-isolation=none', ...tests.map(({ file }) => join(directory, file))];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, '']);
  return stdout;
}

// As they stand, among the tests of this file.
const beside = await temporaryDirectory();
symlinkSync(new URL('node_modules', root), join(beside, 'node_modules'));
for (const snippet of ofJest) {
  const file = join(beside, snippet.file);
  writeFileSync(file, placed(snippet));
  await import(pathToFileURL(file).href);
}

test('the tests of docs/testing.md and docs/guide.md pass, when each is a file of src/handlers/, and one that fails says so, with the history that stands there', () => {
  expect([ofJest.length, snippets.length, guide.length]).toEqual([1, 4, 2]);
  const code = snippets.at(-1)?.code ?? '';
  const byLateAlone = code.replaceAll('isNewest(ctx, event.event_time)', '!ctx.late');
  expect(byLateAlone).not.toBe(code);
  const printed = failingRun([...snippets, ...guide, { file: 'late.test.ts', code: byLateAlone }]);
  expect(printed).toMatch(/tests 6\n.*suites 0\n.*pass 5\n.*fail 1\n/);
  expect(printed).toMatch(/late\.test\.ts/);
  const [, history = 'none'] = /it\sis\sthis\sone:\n\n```\n(.*?)```/s.exec(page) ?? [];
  const lines = (text: string) => text.split('\n').map((line) => line.trim());
  expect(lines(printed)).toEqual(expect.arrayContaining(lines(history)));
});
