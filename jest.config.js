import { fileURLToPath } from 'node:url';

// For store threads and commands: see bin/hookkit.js.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/hookkit', import.meta.url));

export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // The long ones, which npm run test:faults runs.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/faults/'],
  extensionsToTreatAsEsm: ['.ts'],
  // Only types are stripped: what is tested is what Node runs.
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2024', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  // Jest leaves one core to itself, which has nothing to do meanwhile.
  maxWorkers: '100%',
  testTimeout: 120_000,
};
