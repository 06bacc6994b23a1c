import { availableParallelism } from 'node:os';

export default {
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // The long ones and those in a browser, which have commands of their own; and the tests of an app, which Node runs.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/faults/',
    '<rootDir>/test/browser/',
    '<rootDir>/test/fixtures/',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/strip-types.js' },
  setupFiles: ['<rootDir>/test/support/one-realm.js'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Tests wait for processes and timers. With two workers a core, some would wait too long. (Jest takes 150% for 150 workers.)
  maxWorkers: availableParallelism() + 1,
  testTimeout: 120_000,
};
