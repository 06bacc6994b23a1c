import config from './jest.config.js';

/** Pages in a real browser: Debian's Chromium, without which they are skipped with a line that says so. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/browser/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
