import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test } from '@jest/globals';
import { exchangeManifest, restoreManifest } from '../../pack/clone-manifest.ts';
import { packedManifest } from '../../pack/manifest.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { copyProgram, ofCopies } from '../support/program-copy.ts';
import { startProcess } from '../support/service-process.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));
const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));

test('package.json of the package exports JavaScript with types, and has nothing that only a clone needs', () => {
  const { exports, scripts: left, ...packed } = packedManifest(manifest);
  expect(exports).toMatchObject({
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './testing': { types: './dist/testing/index.d.ts', default: './dist/testing/index.js' },
  });
  const { exports: _, scripts, devDependencies, overrides, allowScripts, ...same } = manifest;
  expect(packed).toEqual(same); // `private` too, so that npm publishes no package of a clone that has it
  for (const member of [devDependencies, overrides, allowScripts]) expect(member).toBeDefined();
  // What restores a clone after a killed npm pack: npm finds it in package.json as it was left.
  expect(left).toEqual({ prepack: scripts.prepack, postpack: scripts.postpack });
});

test('an app may have pino-pretty for dev, in the version that the kit is tested with', () => {
  expect(manifest.peerDependencies).toEqual({ 'pino-pretty': `^${manifest.devDependencies['pino-pretty']}` });
  expect(manifest.peerDependenciesMeta).toEqual({ 'pino-pretty': { optional: true } });
});

const CLONE =
  '{ "name": "kit", "private": true,\n  "exports": { ".": "./src/index.ts" }, "scripts": { "test": "jest", "prepack": "build" } }\n';

const fileOf = directoryForEachTest();
beforeEach(() => writeFileSync(fileOf('package.json'), CLONE));

const text = () => readFileSync(fileOf('package.json'), 'utf8');

test('neither of the two files is lost, when package.json was changed after npm pack was killed', () => {
  exchangeManifest(fileOf());
  const changed = text().replace('"kit"', '"mine"');
  writeFileSync(fileOf('package.json'), changed);
  for (const run of [restoreManifest, exchangeManifest])
    expect(() => run(fileOf())).toThrow(
      /was interrupted, and \S+package\.json was changed since.*delete \S+clone/,
    );
  expect(text()).toBe(changed);
  expect(readFileSync(fileOf('package.json.clone'), 'utf8')).toBe(CLONE);
});

/** What npm packs: these, what is in them, and some files always. */
const named = [...manifest.files, 'README.md', 'package.json', 'LICENSE'].flatMap((pattern) =>
  globSync(pattern, { cwd: project }),
);
const isFolder = (path: string) => statSync(join(project, path)).isDirectory();
const packed = new Set(
  named.flatMap((path) => (isFolder(path) ? [path, ...globSync(`${path}/**`, { cwd: project })] : [path])),
);

/** What only who has a clone looks at. */
const OF_A_CLONE = /^(src|test)(\/|$)|^Dockerfile$/;

const pages = [...packed].filter((path) => path.endsWith('.md') && !path.startsWith('templates/'));

test('pages of the package lead to what is in it, or to sources', () => {
  const missing = pages.flatMap((page) => {
    const links = readFileSync(join(project, page), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g);
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

test('pages have their scripts and styles, when packages are below a folder .pnpm', async () => {
  const copy = copyProgram();
  const [packages, below] = [join(copy, 'node_modules'), join(copy, 'node_modules/.pnpm')];
  rmSync(packages);
  mkdirSync(below, { recursive: true });
  for (const name of readdirSync(join(project, 'node_modules'))) {
    const installed = join(project, 'node_modules', name);
    const isOfPages = ['htmx.org', '@picocss'].includes(name);
    if (isOfPages) cpSync(installed, join(below, name), { recursive: true });
    symlinkSync(isOfPages ? join(below, name) : installed, join(packages, name));
  }
  const env = { ...ofCopies, DATABASE_URL: `sqlite:${join(copy, 'receiver.db')}` };
  const service = await startProcess(env, copy, join(copy, 'bin/hookkit.js'));
  const url = /"url":"([^"]+)"/.exec(service.output())?.[1];
  for (const name of ['htmx.js', 'hx-sse.js', 'pico.css'])
    expect([name, (await fetch(`${url}/assets/${name}`)).status]).toEqual([name, 200]);
  await service.stop();
  rmSync(copy, { recursive: true });
});
