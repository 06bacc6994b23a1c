import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

// For tests and their threads: see bin/hookkit.js. Not in the folder of the program: V8 takes code only from a process with
// the same flags, and the program sets one while it loads. Each would throw away and write again what the other wrote.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/tests', import.meta.url));

/** What the tests write, at most. */
const ROOM_FOR_TESTS = 2 * 1024 ** 3;

// A test waits for every commit. In memory a commit takes no time; `npm run test:faults` commits to the real disk.
process.env.TMPDIR = temporaryFiles();

/** Linux's memory file system where it has room, else the usual place. */
function temporaryFiles() {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > ROOM_FOR_TESTS ? '/dev/shm' : tmpdir();
  } catch {
    return tmpdir(); // not Linux
  }
}

export default {
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // The long ones and those in a browser, which have commands of their own; and the tests of an app, which Node runs.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/faults/',
    '<rootDir>/test/browser/',
    '<rootDir>/test/fixtures/',
  ],
  // Node loads and runs what is tested, as it does for users.
  testEnvironment: '<rootDir>/test/jest/environment.ts',
  testRunner: '<rootDir>/test/jest/runner.ts',
  globalSetup: '<rootDir>/test/jest/global-setup.ts',
  globalTeardown: '<rootDir>/test/jest/global-teardown.ts',
  testSequencer: '<rootDir>/test/jest/longest-first.ts',
  transform: {},
  // One more than there are cores, as tests wait for processes and timers. A further one takes more from the others than
  // it adds.
  maxWorkers: availableParallelism() + 1,
  // Jest's 500 ms are too short for workers of some hundred MB that all end at once; one that hangs is told of all the same.
  workerGracefulExitTimeout: 10_000,
  testTimeout: 120_000,
};
