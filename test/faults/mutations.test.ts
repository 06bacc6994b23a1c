import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Mutation, mutations } from '../support/mutations.ts';
import { copyProgram } from '../support/program-copy.ts';

/** The project, to be changed. */
let copy: string;
beforeAll(() => {
  copy = copyProgram({ more: ['test', 'jest.config.js'] });
});
afterAll(() => rmSync(copy, { recursive: true }));

/** Runs tests of the copy; tells their exit code and what they printed. */
async function runTests({ suite, tests }: Pick<Mutation, 'suite' | 'tests'>) {
  const { TEST_SIZE: _, ...env } = process.env;
  const args = [
    'node_modules/jest/bin/jest.js',
    '--runInBand',
    '--forceExit', // a broken program may leave a server behind
    '--runTestsByPath',
    suite,
    '--testTimeout=15000',
  ];
  const child = spawn(process.execPath, tests === undefined ? args : [...args, '-t', tests], {
    cwd: copy,
    env,
  });
  const [, told, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  return { code, told };
}

/** How many tests a run of Jest says that it had. */
function count(told: string, what: 'failed' | 'passed'): number {
  return Number(new RegExp(`^Tests:.*?(\\d+) ${what}`, 'm').exec(told)?.[1] ?? 0);
}

const runs = new Set(mutations.map(({ suite, tests }) => JSON.stringify({ suite, tests })));

describe('the tests of the rules', () => {
  test.each([...runs].map((run) => JSON.parse(run)))(
    'pass, when nothing is changed: $suite $tests',
    async (run) => {
      const { code, told } = await runTests(run);
      expect({ code, isAny: count(told, 'passed') > 0, told }).toMatchObject({ code: 0, isAny: true });
    },
  );

  test.each(mutations)('fail, when this rule is broken: $rule', async (mutation) => {
    const path = join(copy, mutation.file);
    const source = readFileSync(path, 'utf8');
    expect(source.split(mutation.original)).toHaveLength(2);
    writeFileSync(
      path,
      source.replace(mutation.original, () => mutation.mutant),
    );
    try {
      const { code, told } = await runTests(mutation);
      // A program that does not even load would make every test fail.
      expect(told).not.toMatch(/Test suite failed to run|SyntaxError|ReferenceError/);
      expect({ code, isNoticed: count(told, 'failed') > 0, told }).toMatchObject({
        code: 1,
        isNoticed: true,
      });
    } finally {
      writeFileSync(path, source);
    }
  });
});
