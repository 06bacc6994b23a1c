import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutation, mutations } from './support/mutations.ts';
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

/** Runs suites of the copy, or some of their tests. @returns those that ran, by suite; none of a suite that does not load or end */
async function run(suites: readonly string[], more: readonly string[]): Promise<Map<string, Ran[]>> {
  rmSync(report, { force: true });
  const jest = [
    '--experimental-vm-modules',
    'node_modules/jest/bin/jest.js',
    '--maxWorkers=1',
    '--forceExit',
  ];
  const args = [...jest, '--json', `--outputFile=${report}`, ...more, '--runTestsByPath', ...suites];
  const timeout = LONGEST_MS * suites.length;
  await once(spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', timeout }), 'exit');
  const results: { readonly name: string; readonly assertionResults: Ran[] }[] = [];
  try {
    results.push(...JSON.parse(readFileSync(report, 'utf8')).testResults);
  } catch {
    // It did not come to its end.
  }
  const isRun = ({ status }: Ran) => status === 'passed' || status === 'failed';
  return new Map(
    suites.map((suite) => {
      const own = results.find(({ name }) => name.endsWith(suite));
      return [suite, own?.assertionResults.filter(isRun) ?? []];
    }),
  );
}

/** What the tests say of a broken rule. */
async function outcomeOf({ file, original, mutant, noticedBy }: Mutation, sound: ReadonlyMap<string, Ran[]>) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(original).length !== 2) return { survives: 'its text does not stand in the file once' };
  const [suite = '', ...words] = noticedBy.split(': ');
  const tests = words.join(': ');
  const chosen = (sound.get(suite) ?? []).filter(({ fullName }) => new RegExp(tests).test(fullName));
  if (chosen.length === 0 || chosen.some(({ status }) => status === 'failed'))
    return { survives: 'its tests fail without it, or there are none' };
  writeFileSync(path, source.split(original).join(mutant));
  const ran = (await run([suite], ['-t', tests, '--testTimeout=30000'])).get(suite) ?? [];
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
  const suites = chosen.flatMap(([, { noticedBy }]) => noticedBy.split(': ', 1));
  const sound = await run([...new Set(suites)], []);
  let survivors = 0;
  for (const [rule, mutation] of chosen) {
    const { survives, killedBy } = await outcomeOf(mutation, sound);
    if (survives !== undefined) survivors++;
    say(`${killedBy ? 'killed  ' : 'SURVIVES'} | ${rule} | ${survives ?? killedBy}`);
  }
  say(`${chosen.length - survivors} of ${chosen.length} broken rules are noticed`);
  process.exitCode = survivors === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true });
}
