import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { commandsOf, sectionsOf, textOf } from '../../support/manual.ts';

const here = import.meta.dirname;
const tests = readdirSync(here)
  .filter((file) => file.endsWith('.test.ts') && file !== 'sections.test.ts')
  .map((file) => readFileSync(join(here, file), 'utf8'));

test.each(sectionsOf('operating.md').filter((section) => commandsOf('operating.md', section).length > 0))(
  'is run by a test of its own, when a section has commands: %s',
  (section) => {
    expect(tests.some((text) => new RegExp(`operating\\(\\s*'${section}'`).test(text))).toBe(true);
  },
);

test('leads to every section, when the page begins with a list of them', () => {
  for (const section of sectionsOf('operating.md')) {
    expect(textOf('operating.md')).toContain(
      `- [${section}](#${section.toLowerCase().replaceAll(' ', '-')})`,
    );
  }
});
