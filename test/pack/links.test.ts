import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { files }: { files: string[] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** What npm packs: these, what is in them, and some files always. */
const named = [...files, 'README.md', 'package.json', 'LICENSE'].flatMap((pattern) =>
  globSync(pattern, { cwd: root }),
);
const isFolder = (path: string) => statSync(join(root, path)).isDirectory();
const packed = new Set(
  named.flatMap((path) => (isFolder(path) ? [path, ...globSync(`${path}/**`, { cwd: root })] : [path])),
);

/** What only who has a clone looks at. */
const OF_A_CLONE = /^(src|test)(\/|$)|^Dockerfile$/;

const pages = [...packed].filter((path) => path.endsWith('.md') && !path.startsWith('templates/'));

test('pages of the package lead to what is in it, or to sources', () => {
  const missing = pages.flatMap((page) => {
    const links = readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g);
    return [...links]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => normalize(join(dirname(page), link)).replace(/\/$/, ''))
      .filter((target) => !packed.has(target) && !OF_A_CLONE.test(target))
      .map((target) => `${page} -> ${target}`);
  });
  expect(missing).toEqual([]);
  expect(pages).toEqual(
    expect.arrayContaining(['README.md', 'docs/operating.md', 'docs/monitoring/README.md']),
  );
  expect([...packed]).toEqual(
    expect.arrayContaining(['deploy/systemd/receiver.service', 'docs/monitoring/alerts.yml']),
  );
});
