import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const decisions = new URL('docs/decisions/', root);
const pages = readdirSync(decisions).filter((name) => name.endsWith('.md'));

/** The files of the project that a page names: from its top, or from `src/`. */
const filesIn = (page: string) =>
  [...readFileSync(new URL(page, decisions), 'utf8').matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)].map(
    ([, path = '']) => path,
  );
const isThere = (path: string) => ['', 'src/'].some((below) => existsSync(new URL(`${below}${path}`, root)));

test('decisions name files that are there', () => {
  const named = pages.flatMap((page) => filesIn(page).map((path) => ({ page, path })));
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter(({ path }) => !isThere(path))).toEqual([]);
});
