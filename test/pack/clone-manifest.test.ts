import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { exchangeManifest, restoreManifest } from '../../pack/clone-manifest.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CLONE =
  '{ "name": "kit", "private": true,\n  "exports": { ".": "./src/index.ts" }, "scripts": { "test": "jest", "prepack": "build" } }\n';

let root: string;
beforeEach(async () => {
  root = await temporaryDirectory();
  writeFileSync(join(root, 'package.json'), CLONE);
});

const text = () => readFileSync(join(root, 'package.json'), 'utf8');
const isKept = () => existsSync(join(root, 'package.json.clone'));

test('package.json is that of the package while npm packs, and byte by byte that of the clone after it', () => {
  exchangeManifest(root);
  expect(JSON.parse(text())).toEqual({
    name: 'kit',
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
    scripts: { prepack: 'build' },
  });
  restoreManifest(root);
  expect(text()).toBe(CLONE);
  expect(isKept()).toBe(false);
});

test('package.json is right again, when npm pack was killed and runs once more, or only its end does', () => {
  exchangeManifest(root);
  const packed = text();
  exchangeManifest(root);
  expect(text()).toBe(packed);
  for (let time = 0; time < 2; time++) restoreManifest(root);
  expect(text()).toBe(CLONE);
});

test('package.json is right again, when npm pack was killed before it was exchanged', () => {
  writeFileSync(join(root, 'package.json.clone'), CLONE);
  restoreManifest(root);
  expect(text()).toBe(CLONE);
  expect(isKept()).toBe(false);
});

test('neither of the two files is lost, when package.json was changed after npm pack was killed', () => {
  exchangeManifest(root);
  const changed = text().replace('"kit"', '"mine"');
  writeFileSync(join(root, 'package.json'), changed);
  for (const run of [restoreManifest, exchangeManifest])
    expect(() => run(root)).toThrow(
      /was interrupted, and \S+package\.json was changed since.*delete \S+clone/,
    );
  expect(text()).toBe(changed);
  expect(readFileSync(join(root, 'package.json.clone'), 'utf8')).toBe(CLONE);
});
