import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutation, mutations, placesOf } from './support/mutations.ts';
import { copyProgram } from './support/program-copy.ts';

// `npm run test:mutations [WORD]`: breaks each rule, or those whose names match the word, in a copy of the project, and tells which test fails
// then, or that none does. By hand, as it takes minutes.

const copy = copyProgram(['test', 'docs', 'deploy', 'jest.config.js']);
const report = join(copy, 'report.json');
const LONGEST_MS = 180_000;

interface Ran {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

/** Runs a suite of the copy, or some of its tests. @returns those that ran; none of a suite that does not load or end */
async function run(suite: string, more: readonly string[] = []): Promise<Ran[]> {
  rmSync(report, { force: true });
  const jest = [
    '--experimental-vm-modules',
    'node_modules/jest/bin/jest.js',
    '--maxWorkers=1',
    '--forceExit',
  ];
  const args = [...jest, '--json', `--outputFile=${report}`, ...more, '--runTestsByPath', suite];
  await once(spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', timeout: LONGEST_MS }), 'exit');
  try {
    const [result]: { readonly assertionResults: Ran[] }[] = JSON.parse(
      readFileSync(report, 'utf8'),
    ).testResults;
    const isRun = ({ status }: Ran) => status === 'passed' || status === 'failed';
    return result?.assertionResults.filter(isRun) ?? [];
  } catch {
    return []; // it did not come to its end
  }
}

/** What each suite says without a broken rule, one process a suite: in one for all, one that ends it would take the others along. */
const sound = new Map<string, readonly Ran[]>();

/** What the tests say of a broken rule. */
async function outcomeOf(mutation: Mutation) {
  const { change, noticedBy } = mutation;
  const [file = '', ...others] = placesOf(mutation);
  if (file === '' || others.length > 0) return { survives: 'its text does not stand in the sources once' };
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  const [suite = '', ...words] = noticedBy.split(': ');
  const tests = words.join(': ');
  const all = sound.get(suite) ?? (await run(suite));
  sound.set(suite, all);
  const chosen = all.filter(({ fullName }) => new RegExp(tests).test(fullName));
  if (chosen.length === 0 || chosen.some(({ status }) => status === 'failed'))
    return { survives: 'its tests fail without it, or there are none' };
  writeFileSync(path, source.split(change[0]).join(change[1]));
  const ran = await run(suite, ['-t', tests, '--testTimeout=30000']);
  writeFileSync(path, source);
  const [first] = ran.filter(({ status }) => status === 'failed');
  if (!first) return { survives: ran.length === 0 ? 'it does not load, or does not end' : 'no test fails' };
  const isBroken = /SyntaxError|ReferenceError/.test(first.failureMessages.join());
  return isBroken ? { survives: `it does not run: ${first.failureMessages}` } : { killedBy: first.fullName };
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const word = new RegExp(process.argv[2] ?? '');
const chosen = Object.entries(mutations).filter(([rule]) => word.test(rule));
try {
  let survivors = 0;
  for (const [rule, mutation] of chosen) {
    const { survives, killedBy } = await outcomeOf(mutation);
    if (survives !== undefined) survivors++;
    say(`${killedBy ? 'killed  ' : 'SURVIVES'} | ${rule} | ${survives ?? killedBy}`);
  }
  say(`${chosen.length - survivors} of ${chosen.length} broken rules are noticed`);
  process.exitCode = survivors === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true });
}
