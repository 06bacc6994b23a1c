import { join } from 'node:path';

const TESTS = join(import.meta.dirname, '..');

/**
 * Suites that `npm run test:faults` runs, and `npm test` only where a folder, a suite or a test is named (`npm test -- test/cli`): each
 * costs many seconds, and other suites of `npm test` have the same mechanism in a smaller way.
 */
const NAMES = [
  'base/bounded-heap',
  'base/young-space',
  'cli/closed-pipe',
  'cli/dev-terminal',
  'cli/endless-handlers',
  'cli/events/replay-handlers',
  'cli/init',
  'cli/move',
  'cli/operating/systemd',
  'cli/ports',
  'deploy/compose',
  'docs/testing',
  'hardening/fuzz',
  'inspector/long-text',
  'jest/postgres',
  'receiver/quarantine-throttled',
  'replay/portable-reason',
  'rotation/killed',
  'scenarios/disk-trouble',
  'scenarios/errors-left-behind',
  'scenarios/private-files',
  'scenarios/refused-starts',
  'scenarios/rekey-under-traffic',
  'scenarios/stopped-under-load',
  'scenarios/two-servers',
  'store/postgres/short-reads',
  'store/sqlite/conformance-without-threads',
  'store/former/move-killed',
  'store/former/move-refused',
  'store/threads/unstorable',
];

export const fullSizeOnly: ReadonlySet<string> = new Set(NAMES.map((name) => join(TESTS, `${name}.test.ts`)));

/** What the configuration of a run says of the tests that it was asked for. */
interface Asked {
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
  readonly testNamePattern?: string;
}

/** Whether a run passes a suite over: it does if it was asked for no tests in particular. */
export function isPassedOver(path: string, { testPathPatterns, testNamePattern }: Asked): boolean {
  if (process.env.TEST_SIZE === 'full' || !fullSizeOnly.has(path)) return false;
  return !testNamePattern && !testPathPatterns?.patterns.length;
}
