import { expect, test } from '@jest/globals';
import { addressWithoutPort, sourceOf } from '../../src/base/request-source.ts';

test.each([
  ['203.0.113.7', '203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:40000', '203.0.113.7', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8::1', '2001:db8::1', '2001:db8::/56'],
  ['[2001:db8::1]:443', '2001:db8::1', '2001:db8::/56'],
  ['2001:db8:0:ff::1', '2001:db8:0:ff::1', '2001:db8::/56'],
  ['2001:db8:0:100::1', '2001:db8:0:100::1', '2001:db8:0:100::/56'],
  ['unknown', 'unknown', 'unknown'],
  ['', '', ''],
])('the address "%s" is "%s" without its port, and of the source "%s"', (address, bare, source) => {
  expect(addressWithoutPort(address)).toBe(bare);
  expect(sourceOf(address)).toBe(source);
});

test.each(['_hidden:80', '[not an address]:1', 'fe80::1%eth0', ':', '[]', '1.2.3.4:x'])(
  'what is no address, "%s", is of some source',
  (address) => expect(typeof sourceOf(address)).toBe('string'),
);
