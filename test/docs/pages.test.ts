import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { controlCatalogue, MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { openStore } from '../../src/store/open.ts';
import { STATUSES } from '../../src/store/stored.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
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

  test.each(['handled', 'skipped', 'dead', 'dismissed'])('leads from %s back to pending', (status) => {
    expect(states).toMatch(new RegExp(`${status} --> pending: .*replay`));
  });
});

test('the page says where a new command, kind, metric, store and page go, and decisions name files, by paths that are there', () => {
  const known = ['src', 'test', 'docs', 'pack'].flatMap((folder) =>
    filesBelow(folder, '').map(({ path }) => path),
  );
  const missing = (named: readonly string[]) =>
    named.filter(
      (path) => !['', 'src/', 'src/store/'].some((room) => known.some((one) => one.startsWith(room + path))),
    );
  const named = [...page.matchAll(/`((?:src|test|docs)\/[\w./-]*|[\w-]+\/[\w/-]+\.ts)`/g)].map(
    ([, path = '']) => path,
  );
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

const docs = readFileSync(new URL('../../docs/mock.md', import.meta.url), 'utf8');

const provider = MockProvider.inProcess();
const verbs = Object.keys(provider).filter((name) => !['url', 'now', 'apiSecret'].includes(name));
const needed = [
  ...controlCatalogue.map(([method, path]) => `| \`${method} ${path}\` |`),
  ...Object.keys(provider.setFaults({})).map((fault) => `| \`${fault}\` |`),
  ...verbs.map((verb) => `\`${verb}\``),
];

test('docs/mock.md has a row for each route and fault, and names each verb', () => {
  expect(needed.filter((text) => !docs.includes(text))).toEqual([]);
});

test('docs/mock.md draws which change of state sends each kind', () => {
  expect(kindNames.filter((kind) => !new RegExp(`-->.*/ ${kind}`).test(docs))).toEqual([]);
});

const scalingPage = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
const queries = [...scalingPage.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql = '']) => sql);

describeWithPostgres('docs/scaling.md', (server) => {
  let name: string;
  beforeAll(async () => {
    name = await createDatabase(server);
  });
  afterAll(() => dropDatabase(server, name));

  const opened = () => openStore({ DATABASE_URL: server.url(name), clock: systemClock, SECRETS_KEY });

  test.each(queries)('has a query that the server takes: %s', async (sql) => {
    await connected(server.url(name), (client) => client.query(sql));
  });

  test('makes the role of the receivers the owner of everything, when a superuser has restored it', async () => {
    const sql = queries.find((one) => one.includes('OWNER TO')) ?? '';
    const owners = `SELECT DISTINCT relowner::regrole::text AS owner FROM pg_class
      WHERE relnamespace = 'hookkit'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')`;
    await connected(server.adminUrl(name), async (admin) => {
      const [{ superuser }] = (await admin.query('SELECT current_user AS superuser')).rows;
      await admin.query(sql.replaceAll('OWNER TO hookkit', `OWNER TO ${superuser}`));
      expect((await admin.query(owners)).rows).toEqual([{ owner: superuser }]);
      await expect(opened()).rejects.toThrow('owner of schema hookkit');
      await admin.query(sql);
      expect((await admin.query(owners)).rows).toEqual([{ owner: 'hookkit' }]);
      await (await opened()).close();
    });
  });
});
