import config from './jest.config.js';

/** Faults in real processes: kills, power cuts, failover, floods. One suite at a time, as some measure. TEST_SIZE=full has more of each. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/faults/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
  testTimeout: 900_000,
  // What a failed test has left running must not keep its report from whoever waits for it.
  forceExit: true,
};
