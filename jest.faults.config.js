import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const onDisk = tmpdir(); // before the other configuration changes it
const { default: config } = await import('./jest.config.js');
process.env.TMPDIR = onDisk;
process.env.TEST_SIZE = 'full';

const TESTS = fileURLToPath(new URL('test/', import.meta.url));
const SIZES = join(TESTS, 'support/sizes.ts');

/** Suites of which `npm test` runs a part: what imports the sizes, by itself or by what it imports. */
function suitesWithSizes() {
  const known = new Map([[SIZES, true]]);
  const hasSizes = (path) => {
    if (!known.has(path)) {
      known.set(path, false); // until its imports are known
      const imports = readFileSync(path, 'utf8').matchAll(/from '(\.[^']*\.ts)'/g);
      known.set(
        path,
        [...imports]
          .map(([, name]) => join(dirname(path), name))
          .filter(existsSync)
          .some(hasSizes),
      );
    }
    return known.get(path);
  };
  return readdirSync(TESTS, { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(TESTS, name))
    .filter(hasSizes);
}

/** The long ones: attacks, faults and loads at full size. One after the other, as they measure and share the machine. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/faults/**/*.test.ts', ...suitesWithSizes()],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
  // What a failed test has left running must not keep its report from whoever waits for it.
  forceExit: true,
  testTimeout: 900_000,
};
