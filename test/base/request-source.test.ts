import { describe, expect, test } from '@jest/globals';
import { addressWithoutPort, sourceOf } from '../../src/base/request-source.ts';

describe('the source of a request', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:40000', '203.0.113.7'],
    ['203.0.113.7:40001', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['2001:db8::1', '2001:db8::/56'],
    ['[2001:db8::1]', '2001:db8::/56'],
    ['[2001:db8::1]:443', '2001:db8::/56'],
    ['2001:db8:0:ff::1', '2001:db8::/56'],
    ['2001:db8:0:100::1', '2001:db8:0:100::/56'],
    ['::1', '::/56'],
  ])('with the address %s is %s', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });

  test.each([
    '',
    'unknown',
    '_hidden:80',
    '203.0.113:80',
    '[not an address]:1',
    'fe80::1%eth0',
    ':',
    '[]',
    '1.2.3.4:x',
  ])('with what is no address, "%s", is something, and no error', (address) => {
    expect(typeof sourceOf(address)).toBe('string');
  });

  test('of a closed connection is empty', () => {
    expect(sourceOf(undefined)).toBe('');
  });
});

test.each([
  ['203.0.113.7:40000', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['unknown', 'unknown'],
])('%s without its port is %s', (address, bare) => {
  expect(addressWithoutPort(address)).toBe(bare);
});
