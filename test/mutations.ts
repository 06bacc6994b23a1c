import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Mutation, mutations } from './support/mutations.ts';
import { copyProgram } from './support/program-copy.ts';

// `npm run test:mutations [WORD]`: breaks each rule in a copy of the project, or those whose name has the word, and tells which ones no test
// has noticed. By hand, as it takes minutes.

const copy = copyProgram({ more: ['test', 'docs', 'jest.config.js', 'jest.faults.config.js'] });

interface TestRun {
  readonly failed: number;
  readonly passed: number;
  readonly told: string;
}

/** Runs tests of the copy. */
async function runTests({ suite, tests }: Pick<Mutation, 'suite' | 'tests'>): Promise<TestRun> {
  const faults = suite.startsWith('test/faults/') ? ['--config', 'jest.faults.config.js'] : [];
  const named = tests === undefined ? [] : ['-t', tests];
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', ...faults, ...named];
  // A broken program may leave a server behind.
  const args = [...jest, '--forceExit', '--testTimeout=60000', '--runTestsByPath', suite];
  const child = spawn(process.execPath, args, { cwd: copy });
  const [, told] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const count = (what: string) => Number(new RegExp(`^Tests:.*?(\\d+) ${what}`, 'm').exec(told)?.[1] ?? 0);
  return { failed: count('failed'), passed: count('passed'), told };
}

async function isNoticed(mutation: Mutation): Promise<string | undefined> {
  const path = join(copy, mutation.file);
  const source = readFileSync(path, 'utf8');
  if (source.split(mutation.original).length !== 2) return 'its text does not stand in the file once';
  writeFileSync(
    path,
    source.replace(mutation.original, () => mutation.mutant),
  );
  try {
    const { failed, told } = await runTests(mutation);
    // A program that does not even load would make every test fail.
    if (/Test suite failed to run|SyntaxError|ReferenceError/.test(told)) return `it does not load:\n${told}`;
    return failed > 0 ? undefined : 'no test fails';
  } finally {
    writeFileSync(path, source);
  }
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const word = process.argv[2] ?? '';
const chosen = mutations.filter(({ rule }) => rule.includes(word));
try {
  let survivors = 0;
  const sound = new Map<string, boolean>();
  for (const mutation of chosen) {
    const tests = `${mutation.suite} ${mutation.tests ?? ''}`;
    if (!sound.has(tests)) {
      const { failed, passed, told } = await runTests(mutation);
      sound.set(tests, failed === 0 && passed > 0);
      if (!sound.get(tests))
        say(`these tests fail, or there are none, when nothing is changed: ${tests}\n${told}`);
    }
    const problem = sound.get(tests) ? await isNoticed(mutation) : 'its tests are not sound';
    say(
      `${problem === undefined ? 'noticed  ' : 'SURVIVES '} ${mutation.rule}${problem ? `: ${problem}` : ''}`,
    );
    if (problem !== undefined) survivors++;
  }
  say(`${chosen.length - survivors} of ${chosen.length} broken rules are noticed`);
  process.exitCode = survivors === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true });
}
