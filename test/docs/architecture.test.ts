import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { STATUSES } from '../../src/store/stored.ts';
import { filesBelow, importsOf, roomOf } from '../support/source-files.ts';

const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
const [rooms = '', states = ''] = [...page.matchAll(/^```mermaid\n(.*?)^```$/gms)].map(
  ([, picture = '']) => picture,
);

/** The name of a room in the picture: its folder, or its file without `.ts`. */
const nameOf = (path: string) => roomOf(path).replace(/\.ts$/, '');

const sources = filesBelow('src', '.ts');
const folders = new Set(sources.map(({ path }) => nameOf(path)));
/** What is in src/handlers/ is its owner's: the picture shows what all handlers import. */
const ours = sources.filter(({ path }) => nameOf(path) !== 'handlers');
const imported = new Set(
  ours.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target?.startsWith('src/'))
      .map(({ target = '' }) => [nameOf(file.path), nameOf(target)] as const)
      .filter(([from, to]) => from !== to && to !== 'base')
      .map(([from, to]) => `${from} --> ${to}`),
  ),
);

const boxes = new Set([...rooms.matchAll(/^ {2}(\w+)\[/gm)].map(([, name = '']) => name));
const arrows = new Set(
  [...rooms.matchAll(/^ {2}(\w+) --> (.+)$/gm)].flatMap(([, from, targets = '']) =>
    targets.split(' & ').map((to) => `${from} --> ${to}`),
  ),
);
const drawn = new Set([...arrows].filter((arrow) => arrow !== 'handlers --> index'));

describe('the picture of the rooms', () => {
  test('has a box for every folder and file of src, and no other', () => {
    expect([...folders.difference(boxes)].toSorted()).toEqual([]);
    expect([...boxes.difference(folders)].toSorted()).toEqual([]);
  });

  test('has an arrow for every import from one room to another, and no other', () => {
    expect([...imported.difference(drawn)].toSorted()).toEqual([]);
    expect([...drawn.difference(imported)].toSorted()).toEqual([]);
  });
});

describe('the picture of the life of an event', () => {
  test('has every status of an event, and the quarantine', () => {
    const shown = new Set(
      [...states.matchAll(/\b(\w+)(?= -->)|--> (\w+)/g)].map(([, from, to]) => from ?? to),
    );
    expect([...shown].toSorted()).toEqual([...STATUSES, 'quarantine'].toSorted());
  });

  test.each(['handled', 'skipped', 'dead', 'dismissed'])(
    'leads from %s back to pending, as a replay does',
    (status) => {
      expect(states).toMatch(new RegExp(`${status} --> pending: .*replay`));
    },
  );
});

test('the page says where a new command, kind, metric, store and page go, and decisions name files, by paths that are there', () => {
  const known = ['src', 'test', 'docs', 'pack'].flatMap((folder) =>
    filesBelow(folder, '').map(({ path }) => path),
  );
  const missing = (named: readonly string[]) =>
    named.filter((path) => !known.some((one) => one.startsWith(path) || one.startsWith(`src/${path}`)));
  const named = [...page.matchAll(/`((?:src|test|docs)\/[\w./-]*)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(10);
  expect(missing(named)).toEqual([]);
  for (const { path, text } of filesBelow('docs/decisions', '.md')) {
    const files = [...text.matchAll(/\b((?:[\w-]+\/)+[\w.-]+\.ts)\b/g)].map(([, file = '']) => file);
    expect({ path, missing: missing(files) }).toEqual({ path, missing: [] });
  }
});

test('other rooms import the files of store that the page names, and no other', () => {
  const [, list = ''] =
    /import these files of `store`, and nothing else of it:([\s\S]*?)\.\n\n/.exec(page) ?? [];
  const named = [...list.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => `src/store/${file}`);
  const used = ours
    .filter(({ path }) => nameOf(path) !== 'store')
    .flatMap((file) => importsOf(file).map(({ target = '' }) => target));
  expect(new Set(used.filter((target) => target.startsWith('src/store/')))).toEqual(new Set(named));
});
