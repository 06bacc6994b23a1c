import { tmpdir } from 'node:os';

const onDisk = tmpdir(); // before the other configuration changes it
const { default: config } = await import('./jest.config.js');
process.env.TMPDIR = onDisk;

/** The long ones: attacks, faults and loads at full size. One after the other, as they measure and share the machine. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/faults/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
  testTimeout: 900_000,
};
