import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { controlCatalogue, faultNames, MockProvider } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';

const docs = readFileSync(new URL('../../docs/mock.md', import.meta.url), 'utf8');

describe('docs/mock.md', () => {
  test.each(controlCatalogue.map(([method, path]) => `${method} ${path}`))(
    'has a row for the route %s',
    (route) => {
      expect(docs).toContain(`| \`${route}\` |`);
    },
  );

  test.each(kindNames)('draws which change of state sends %s', (kind) => {
    expect(docs).toMatch(new RegExp(`-->.*/ ${kind}`));
  });

  test.each(faultNames)('has a row for the fault %s', (fault) => {
    expect(docs).toContain(`| \`${fault}\` |`);
  });

  test.each(
    Object.keys(MockProvider.inProcess()).filter((name) => !['url', 'now', 'apiSecret'].includes(name)),
  )('names the verb %s', (verb) => {
    expect(docs).toContain(`\`${verb}\``);
  });
});
