import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root });
const textOf = (page: string) => readFileSync(`${root}/${page}`, 'utf8');

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string) =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
const anchors = new Map(pages.map((page) => [page, anchorsOf(page)]));

test('links to a section of a page lead to a heading that is there', () => {
  const broken = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)]
      .filter(([, to, anchor = '']) => !anchors.get(to ? join(dirname(page), to) : page)?.includes(anchor))
      .map(([, to, anchor]) => `${page} -> ${to}#${anchor}`),
  );
  expect(broken).toEqual([]);
});
