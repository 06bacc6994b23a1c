import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { controlCatalogue, faultNames, MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';

const docs = readFileSync(new URL('../../docs/mock.md', import.meta.url), 'utf8');

const verbs = Object.keys(MockProvider.inProcess()).filter(
  (name) => !['url', 'now', 'apiSecret'].includes(name),
);
const needed = [
  ...controlCatalogue.map(([method, path]) => `| \`${method} ${path}\` |`),
  ...faultNames.map((fault) => `| \`${fault}\` |`),
  ...verbs.map((verb) => `\`${verb}\``),
];

test('docs/mock.md has a row for each route and fault, and names each verb', () => {
  expect(needed.filter((text) => !docs.includes(text))).toEqual([]);
});

test('docs/mock.md draws which change of state sends each kind', () => {
  expect(kindNames.filter((kind) => !new RegExp(`-->.*/ ${kind}`).test(docs))).toEqual([]);
});
