import { expect, test } from '@jest/globals';
import { instanceOf, newOwner } from '../../src/store/owner.ts';

test('names its instance, when it is made of one, and is no other owner of that instance', () => {
  const [one, other] = [newOwner('receiver-1.example'), newOwner('receiver-1.example')];
  expect([one, other].map(instanceOf)).toEqual(['receiver-1.example', 'receiver-1.example']);
  expect(one).not.toBe(other);
});

test('names no instance, when a former version has leased', () => {
  expect(instanceOf('0b1f1b1e-6f6b-4a53-9f0e-2c6f5d1f0a11')).toBeUndefined();
});
