import { availableParallelism, tmpdir } from 'node:os';
import { fullSizeOnly } from './test/jest/full-size-only.ts';
import { suitesImporting } from './test/jest/suites-importing.ts';

const onDisk = tmpdir(); // before the other configuration changes it
const { default: config } = await import('./jest.config.js');
process.env.TMPDIR = onDisk;
process.env.TEST_SIZE = 'full';

/** Suites of which `npm test` runs a part. Those in a browser have a command of their own, which runs all of them. */
const suitesWithSizes = suitesImporting('support/sizes.ts').filter(
  (path) => !path.includes('/test/browser/'),
);

/** Those of test/faults/ that measure nothing, so that others may run beside them. */
const SIDE_BY_SIDE = [
  'engines',
  'fuzz',
  'growth',
  'hostile-handlers',
  'kill',
  'lost-answers',
  'move',
  'mutations',
  'own-handlers',
  'package',
  'pgbouncer',
  'postgres-failover',
  'postgres-receivers',
  'rekey-killed',
  'rolling-restart',
];

const sideBySide = SIDE_BY_SIDE.map((name) => `<rootDir>/test/faults/${name}.test.ts`);
const { testTimeout: _, maxWorkers: __, testSequencer, workerGracefulExitTimeout, ...suites } = config;

/** The long ones: attacks, faults and loads at full size. Those that measure run one at a time, apart from all others. */
export default {
  // At full size a suite waits less than in npm test.
  maxWorkers: availableParallelism() + 1,
  testTimeout: 900_000,
  testSequencer,
  workerGracefulExitTimeout,
  // What a failed test has left running must not keep its report from whoever waits for it.
  forceExit: true,
  projects: [
    {
      ...suites,
      runner: '<rootDir>/test/jest/one-at-a-time.ts',
      testMatch: ['<rootDir>/test/faults/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...sideBySide],
    },
    {
      ...suites,
      testMatch: [...new Set([...sideBySide, ...suitesWithSizes, ...fullSizeOnly])],
      testPathIgnorePatterns: ['/node_modules/'],
    },
  ],
};
