import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { codeOf, filesBelow, type SourceFile } from '../support/source-files.ts';

const DEPRECATED = new URL('../../src/base/deprecated.ts', import.meta.url).href;

test('a deprecated name works as before, and warns once with its replacement', () => {
  const code = `
    const { deprecated } = await import(${JSON.stringify(DEPRECATED)});
    const later = deprecated((ms) => ({ after: ms }), 'later', 'retry');
    const other = deprecated(() => 1, 'other', 'another');
    console.log(JSON.stringify([later(1), later(2), other()]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toEqual([{ after: 1 }, { after: 2 }, 1]);
  expect(stderr.match(/DeprecationWarning: .*/g)).toEqual([
    'DeprecationWarning: later is deprecated: use retry',
    'DeprecationWarning: other is deprecated: use another',
  ]);
});

/** The files that call a name deprecated for editors alone: who runs the program is to hear of it, too. */
function silent(files: readonly SourceFile[]): string[] {
  const marks = ({ text }: SourceFile) => text.match(/^\s*(?:\/\*)?\*+ @deprecated\b/gm)?.length ?? 0;
  const calls = (file: SourceFile) => codeOf(file).match(/= deprecated\(/g)?.length ?? 0;
  return files.filter((file) => marks(file) > calls(file)).map(({ path }) => path);
}

test('whatever is marked as deprecated warns when it is used', () => {
  const marked = '/** @deprecated use retry */\nexport const later = ';
  expect(silent([{ path: 'a.ts', text: `${marked}retry;` }])).toEqual(['a.ts']);
  expect(silent([{ path: 'a.ts', text: `${marked}deprecated(retry, 'later', 'retry');` }])).toEqual([]);
  expect(silent(filesBelow('src', '.ts'))).toEqual([]);
});
