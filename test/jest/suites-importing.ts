import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TESTS = join(import.meta.dirname, '..');

/** The paths of the suites that import a file of `test/`, by themselves or by what they import. */
export function suitesImporting(file: string): string[] {
  const known = new Map([[join(TESTS, file), true]]);
  const isImporting = (path: string): boolean => {
    const before = known.get(path);
    if (before !== undefined) return before;
    known.set(path, false); // until its imports are known
    const imports = readFileSync(path, 'utf8').matchAll(/from '(\.[^']*\.ts)'/g);
    const paths = [...imports].map(([, name = '']) => join(dirname(path), name));
    known.set(path, paths.filter(existsSync).some(isImporting));
    return known.get(path) ?? false;
  };
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(TESTS, name))
    .filter(isImporting);
}
