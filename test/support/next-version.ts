import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CopyOptions, copyProgram } from './program-copy.ts';

/** Texts of the program, each of which stands in its file once, and what the next version has in its place. */
const CHANGES = [
  { file: 'schema.ts', now: 'export const VERSION = 1;', next: 'export const VERSION = 2;' },
  {
    file: 'schema.ts',
    now: 'CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);`,',
    next: "CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);`,\n  () => 'ALTER TABLE attempts ADD COLUMN version text',",
  },
  {
    file: 'operations/settle.ts',
    now: 'outcome text, error text',
    next: 'outcome text, error text, version text',
  },
  {
    file: 'operations/settle.ts',
    now: 'instance: one.owner,',
    next: "instance: one.owner, version: 'next',",
  },
];

/** A copy of the program with a later schema, which has a column more: it writes that. */
export function copyNextVersion(options: CopyOptions): string {
  const copy = copyProgram(options);
  for (const { file, now, next } of CHANGES) {
    const path = join(copy, 'src/store', file);
    const [before, after, ...others] = readFileSync(path, 'utf8').split(now);
    if (before === undefined || after === undefined || others.length > 0)
      throw new Error(`${file} does not have this once: ${now}`);
    writeFileSync(path, `${before}${next}${after}`);
  }
  return copy;
}
