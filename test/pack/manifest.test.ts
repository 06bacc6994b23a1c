import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { doors, packedManifest } from '../../pack/manifest.ts';

const root = new URL('../../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

test('package.json of a clone exports the sources themselves, so that a clone runs without a build', () => {
  expect(manifest.exports).toEqual({
    '.': './src/index.ts',
    './testing': './src/testing/index.ts',
    './mock': './src/mock/index.ts',
    './provider': './src/provider/index.ts',
  });
  for (const door of doors(manifest))
    expect(readFileSync(new URL(`src/${door}`, root), 'utf8')).toContain('export');
});

test('package.json of the package exports JavaScript with types, and has nothing that only a clone needs', () => {
  const { exports, scripts: left, ...packed } = packedManifest(manifest);
  expect(exports).toMatchObject({
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './testing': { types: './dist/testing/index.d.ts', default: './dist/testing/index.js' },
  });
  const { exports: _, private: __, scripts, devDependencies, overrides, allowScripts, ...same } = manifest;
  expect(packed).toEqual(same);
  for (const member of [devDependencies, overrides, allowScripts]) expect(member).toBeDefined();
  // What restores a clone after a killed npm pack: npm finds it in package.json as it was left.
  expect(left).toEqual({ prepack: scripts.prepack, postpack: scripts.postpack });
});

test('package.json is refused, when it exports what is no source', () => {
  expect(() => packedManifest({ exports: { '.': './dist/index.js' } })).toThrow('exports ./dist/index.js');
});

test('an app may have fast-check for matrix, and pino-pretty for dev, in the versions that the kit is tested with', () => {
  const optional = ['fast-check', 'pino-pretty'];
  expect(manifest.peerDependencies).toEqual(
    Object.fromEntries(optional.map((name) => [name, `^${manifest.devDependencies[name]}`])),
  );
  expect(manifest.peerDependenciesMeta).toEqual(
    Object.fromEntries(optional.map((name) => [name, { optional: true }])),
  );
});
