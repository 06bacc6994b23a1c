import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CopyOptions, copyProgram } from './program-copy.ts';

/** The version of the schema that the next program has. */
export const NEXT_SCHEMA = 2;

/** Texts of the program, each of which stands in its file once, and what the next version has in its place. */
const CHANGES = [
  {
    file: 'migrations.ts',
    now: 'readonly string[] = [schema];',
    next: `readonly string[] = [schema, \`
      ALTER TABLE hookkit.work ADD COLUMN started_by text;
      ALTER TABLE hookkit.attempts ADD COLUMN version text;
      CREATE TABLE hookkit.versions (event bigint NOT NULL, started_by text)\`];`,
  },
  {
    file: 'tables/work.ts',
    now: 'attempts = work.attempts + 1, late',
    next: "attempts = work.attempts + 1, started_by = 'next', late",
  },
  {
    file: 'tables/history.ts',
    now: 'duration_ms, outcome, error, instance)\n         SELECT * FROM',
    next: "duration_ms, outcome, error, instance, version)\n         SELECT *, 'next' FROM",
  },
  {
    file: 'tables/history.ts',
    now: 'if (attempts.length === 0) return;',
    next: `if (attempts.length === 0) return;
      await session.rows(
        'INSERT INTO hookkit.versions SELECT event, started_by FROM hookkit.work WHERE event = ANY($1)',
        [attempts.map(({ event }) => event)],
      );`,
  },
];

/** A copy of the program with a later schema, which has two columns and a table more: it writes and reads them. */
export function copyNextVersion(options: CopyOptions): string {
  const copy = copyProgram(options);
  for (const { file, now, next } of CHANGES) {
    const path = join(copy, 'src/store/postgres', file);
    const [before, after, ...others] = readFileSync(path, 'utf8').split(now);
    if (before === undefined || after === undefined || others.length > 0)
      throw new Error(`${file} does not have this once: ${now}`);
    writeFileSync(path, `${before}${next}${after}`);
  }
  return copy;
}
