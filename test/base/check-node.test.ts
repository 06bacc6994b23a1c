import { expect, test } from '@jest/globals';
import { checkNode } from '../../src/base/check-node.ts';

test.each([
  ['24.21.0', 'ok'],
  ['26.0.0', 'ok'],
  ['25.1.0', 'warn'],
  ['22.20.0', 'FAIL'],
])('tells whether Node will do, when it is %s: %s', (version, result) => {
  expect(checkNode(version).result).toBe(result);
});
