import { expect, test } from '@jest/globals';
import { similarTo } from '../../src/base/similar.ts';

const NAMES = ['PORT', 'ADMIN_PORT', 'ADMIN_TOKEN', 'RETRY_MAX_ATTEMPTS', 'RETENTION_DAYS'];

test.each([
  ['RETRY_MAX_ATTEMTPS', 'RETRY_MAX_ATTEMPTS'],
  ['RETENTION_DAY', 'RETENTION_DAYS'],
  ['ADMIN_TOKN', 'ADMIN_TOKEN'],
  ['ADMINPORT', 'ADMIN_PORT'],
  ['ADMIN_PORT', undefined], // it is the name itself
  ['PORTS', undefined],
  ['POST', undefined],
  ['', undefined],
  ['CRM_URL', undefined],
])('whoever writes %j means %j', (written, meant) => {
  expect(similarTo(written, NAMES)).toBe(meant);
});
