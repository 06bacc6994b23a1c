import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { kindNames } from '../../src/notification/kinds.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

jest.setTimeout(300_000); // tests within tests, on a busy machine
const root = join(import.meta.dirname, '../..');
const isRepository = existsSync(join(root, '.git'));
if (!isRepository) process.stdout.write('skipped: no .git here, so there is nothing to clone\n');
const inRepository = isRepository ? test : test.skip;

/** Tests that play the demo, start processes that handle, read the sources, and type what the manual says. */
const PART = [
  'test/cli/mock',
  'test/cli/handlers',
  'test/receiver/service',
  'test/cli/operating',
  'test/house',
];

let place: string;
/** The project as committed, with somebody's own handlers, which write down what loads and runs them. */
let clone: string;
const trace = () => {
  const file = join(place, 'trace');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

beforeAll(async () => {
  if (!isRepository) return;
  place = await temporaryDirectory();
  clone = join(place, 'clone');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  rmSync(join(clone, 'src/handlers'), { recursive: true });
  mkdirSync(join(clone, 'src/handlers'));
  const lines = [
    "import { appendFileSync } from 'node:fs';",
    `const file = ${JSON.stringify(join(place, 'trace'))};`,
    "const note = (what: string) => appendFileSync(file, [what, 'by', ...process.argv].join(' ') + '\\n');",
    "note('loaded');",
    'export const handlers = {',
    ...[...kindNames, 'unknown'].map((kind) => `  ${kind}: () => note('${kind}'),`),
    '};',
  ];
  writeFileSync(join(clone, 'src/handlers/index.ts'), lines.join('\n'));
});
afterAll(() => {
  if (place) rmSync(place, { recursive: true, force: true });
});

function run(program: string, ...args: readonly string[]) {
  const { TEST_SIZE: _, ...env } = process.env; // what npm test runs there is what it runs here
  const options = { cwd: clone, env: { ...env, ADMIN_PORT: '0' }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(program, args, options);
  return { code: status, output: status === 0 ? '' : stdout + stderr };
}

inRepository.each([
  ['the demo', ['npm', 'run', 'demo', '--', '--once']],
  ['the tests', ['npm', 'test', '--', '--runInBand', ...PART]],
  ['the types', [process.execPath, 'node_modules/typescript/bin/tsc', '--noEmit']],
] satisfies [string, [string, ...string[]]][])(
  "%s come out well, when src/handlers/ holds somebody's own, and load nothing there",
  (_, [program, ...args]) => {
    expect(run(program, ...args)).toEqual({ code: 0, output: '' });
    expect(trace()).toBe('');
  },
);

inRepository("a command that is to run somebody's own handlers does, or no test would tell", () => {
  const media = ['--kind', 'media_created', '--media', 'UUhbHm6C'];
  expect(run(process.execPath, 'bin/hookkit.js', 'handlers', 'try', ...media).code).toBe(0);
  expect(trace()).toMatch(/^loaded by .*\nmedia_created by .* handlers try .*\n$/);
});
