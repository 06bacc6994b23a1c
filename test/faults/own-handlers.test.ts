import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Clone, cloneWithOwnHandlers, isRepository } from '../support/clone.ts';
import { present } from '../support/only.ts';

jest.setTimeout(300_000); // tests within tests, on a busy machine
if (!isRepository) process.stdout.write('skipped: no .git here, so there is nothing to clone\n');
const inRepository = isRepository ? test : test.skip;

let clone: Clone | undefined;
beforeAll(() => {
  if (isRepository) clone = cloneWithOwnHandlers();
});
afterAll(() => clone?.dispose());

/** Tests that play the demo, start processes that handle, read the sources, and type what the manual says. */
const PART = [
  'test/cli/demo',
  'test/cli/handlers',
  'test/service.test',
  'test/cli/operating/install',
  'test/house',
  'test/demo',
];

inRepository.each([
  ['the demo', ['npm', 'run', 'demo', '--', '--once']],
  ['the tests', ['npm', 'test', '--', '--runInBand', ...PART]],
  ['the types', [process.execPath, 'node_modules/typescript/bin/tsc', '--noEmit']],
] satisfies [string, [string, ...string[]]][])(
  "%s come out well, when src/handlers/ holds somebody's own, and load nothing there",
  async (_, [program, ...args]) => {
    const { trace, run } = present(clone);
    const { code, output } = await run(program, ...args);
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
    expect(trace()).toBe('');
  },
);

inRepository(
  "a command that is to run somebody's own handlers does, so that the tests above would tell",
  async () => {
    const { trace, run } = present(clone);
    const media = ['--kind', 'media_created', '--media', 'UUhbHm6C'];
    const { code } = await run(process.execPath, 'bin/hookkit.js', 'handlers', 'try', ...media);
    expect(code).toBe(0);
    expect(trace()).toMatch(/^loaded by .*\nmedia_created by .* handlers try .*\n$/);
  },
);
