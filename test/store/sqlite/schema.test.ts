import { hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { migrations } from '../../../src/store/former/migrations.ts';
import { extensions, SCHEMA_VERSION, schema } from '../../../src/store/sqlite/schema.ts';

/** Of the migrations 1 to 8, of the schema that followed them, and of its extensions. */
const SHA_256 = [
  'e441cb9e5651b1f1128c66622e2caaf32121b10bb5f17a0b45cc27c3ac2b49dd',
  '6db3b910fdda35f0632ee2484a344d48cbcfe666d5604e7bcae98c2600c63945',
  '3a224e0ddfedd7a6c77b5a47bb9b7cf61f4603d5faf85042a69b17a442fe422a',
  '2356e47606f0baa9ee58f0128c3bf4d66da997db443c6eb43b800e4e66b640c9',
  'd28502d40fb6cb431c8c37a5e9a6fa0b73cfd9efe0a4fbcc31e2704107370781',
  'f28fea558eb636d5595bbf65543b656c3d583c1cec22e4f2b673ef5027c1c3ef',
  'cfc41c9fdb7046090512ba84c8855d111964448b750519f037d78e69d023287b',
  'deb2f58f4bef530a39789190723b7e82f09850e6e18a7fd2a1f79f41431257b1',
  '9d52a96a405aa85a27b4c33e060e9ce56a9466115a7416ce18f781326481c81b',
  'b0569afe914eccc9c0cc669e81e4885bc459b97283d7cb2aff636c26b43d830b',
  '5e884cc2254be0974852f63800472c6eb5874647df6f193200c8552f4c8577c4',
];

test('the schema of each version stays as it is, when databases have it', () => {
  expect([...migrations, schema, ...extensions].map((sql) => hash('sha256', sql))).toEqual(SHA_256);
  expect(SCHEMA_VERSION).toBe(SHA_256.length);
});
