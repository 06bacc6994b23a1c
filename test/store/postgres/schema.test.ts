import { hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { migrations } from '../../../src/store/postgres/migrations.ts';

/** Of each migration, in their order. A released one never changes: databases have been through it. */
const SHA_256 = ['22521c83f062cbd077d3e36fce9f46aded5974e17d04cfddaa582ec9378f4689'];

test('the migrations of PostgreSQL stay as they are, when databases have been through them', () => {
  expect(migrations.map((sql) => hash('sha256', sql))).toEqual(SHA_256);
});
