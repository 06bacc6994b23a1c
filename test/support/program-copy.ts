import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Handlers in two files, as somebody has them. */
const HANDLERS = {
  'index.ts': [
    "import { combineHandlers } from '../index.ts';",
    "import { tracks } from './tracks.ts';",
    'export const handlers = combineHandlers(tracks);',
  ],
  'tracks.ts': [
    "import { defineHandlers } from '../index.ts';",
    'export const tracks = defineHandlers({ track_created() {} });',
  ],
};

/** For their processes: what Node makes of a copy goes with it, and does not stay with the packages. */
export const ofCopies = { NODE_COMPILE_CACHE: join(tmpdir(), 'compile-cache') };

/**
 * A copy of the program in a directory of its own, to be changed and run; with handlers of its own, too.
 * @param more what else of the project stands in it
 */
export function copyProgram(more: readonly string[] = []): string {
  const copy = mkdtempSync(join(tmpdir(), 'hookkit-copy-'));
  for (const name of ['bin', 'src', 'package.json', ...more])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  rmSync(join(copy, 'src/handlers'), { recursive: true });
  mkdirSync(join(copy, 'src/handlers'));
  for (const [name, lines] of Object.entries(HANDLERS))
    writeFileSync(join(copy, 'src/handlers', name), `${lines.join('\n')}\n`);
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

const VERSION = 'export const VERSION = migrations.length;';
const FURTHER = `(migrations as unknown[]).push((d: Dialect) =>
  [...tables(d).matchAll(/CREATE TABLE (?!meta)(\\w+)/g)].map(([, table]) => \`ALTER TABLE \${table} ADD COLUMN further text\`).join(';\\n'));`;

/** A copy of the program with a further migration, by which each table but meta has a column more. */
export function copyNextVersion(more?: readonly string[]): string {
  const copy = copyProgram(more);
  const path = join(copy, 'src/store/schema.ts');
  const [before, after] = readFileSync(path, 'utf8').split(VERSION);
  if (after === undefined) throw new Error(`${path} does not have ${VERSION}`);
  writeFileSync(path, [before, FURTHER, VERSION, after].join('\n'));
  return copy;
}
