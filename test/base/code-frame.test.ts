import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { codeFrame } from '../../src/base/code-frame.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

test('shows the line before, the marked line and the line after, and no other', () => {
  const lines = Array.from({ length: 12 }, (_, index) => `  line(${index + 1});`);
  const file = written('a.ts', lines.join('\n'));
  expect(codeFrame({ file, line: 10, column: 3 })).toBe(
    ['   9 |   line(9);', '> 10 |   line(10);', '     |   ^', '  11 |   line(11);'].join('\n'),
  );
  expect(codeFrame({ file, line: 1, column: 7 })).toBe(
    ['> 1 |   line(1);', '    |       ^', '  2 |   line(2);'].join('\n'),
  );
  expect(codeFrame({ file, line: 12, column: 1 })).toMatch(/line\(11\).*\n> 12 .*\n +\| \^$/);
});

test('marks the place, when tabs and characters that a terminal would obey stand before it', () => {
  const file = written('hostile.js', '\t"\u001b[2J\u202e" + x;\r\nnext');
  expect(codeFrame({ file, line: 1, column: 11 })).toBe(
    ['> 1 |   "\\u001b[2J\\u202e" + x;', `    | ${' '.repeat(21)}^`, '  2 | next'].join('\n'),
  );
});

test('shows the part around the place, when the line is long', () => {
  const file = written('small.mjs', `${'a'.repeat(5000)}HERE${'b'.repeat(5000)}`);
  const [marked = '', mark = ''] = codeFrame({ file, line: 1, column: 5001 })?.split('\n') ?? [];
  expect(marked.length).toBeLessThan(180);
  expect(marked.slice(mark.indexOf('^'), mark.indexOf('^') + 4)).toBe('HERE');
});

test('shows nothing, when the file is gone, is no code, is no file, is very large, or has no such line', () => {
  const file = written('short.ts', 'one');
  mkdirSync(join(directory, 'folder.ts'));
  const places = [
    { file: join(directory, 'none.ts'), line: 1 },
    { file: written('secrets.env', 'SECRET=1'), line: 1 },
    { file: '/dev/zero', line: 1 },
    { file: join(directory, 'folder.ts'), line: 1 },
    { file: written('large.ts', ' '.repeat(1024 * 1024 + 1)), line: 1 },
    { file, line: 2 },
    { file, line: 0 },
  ];
  for (const place of places) expect(codeFrame({ ...place, column: 1 })).toBeUndefined();
  expect(codeFrame({ file, line: 1, column: 1 })).toContain('one');
});
