import { expect, test } from '@jest/globals';
import { sourceOf } from '../../src/base/request-source.ts';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:40000', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
  ['[2001:db8::1]:443', '2001:db8::/56'],
  ['2001:db8:0:ff::1', '2001:db8::/56'],
  ['2001:db8:0:100::1', '2001:db8:0:100::/56'],
  ['', ''],
])('a request from "%s" is of the source %s', (address, source) => {
  expect(sourceOf(address)).toBe(source);
});

test.each(['unknown', '_hidden:80', 'fe80::1%eth0', ':', '[]', '1.2.3.4:x'])(
  'a request from no address, "%s", is of some source',
  (address) => expect(typeof sourceOf(address)).toBe('string'),
);
