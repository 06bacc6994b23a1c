import { expect, test } from '@jest/globals';
import { Gathered, giveBack } from '../../src/base/gathered.ts';

test('the memory of many bytes is freed at once, when they are given back', () => {
  const bytes = Buffer.allocUnsafeSlow(20_000);
  giveBack(bytes);
  expect(bytes).toHaveLength(0);
});

test('bytes stay as they are, when they are given back and share their memory with others', () => {
  const [one, other] = [Buffer.from('one'), Buffer.from('x'.repeat(20_000))];
  expect(one.buffer.byteLength).toBe(Buffer.poolSize);
  for (const shared of [one, other]) giveBack(shared);
  expect(one.toString() + other.toString()).toBe(`one${'x'.repeat(20_000)}`);
});

test('gathered bytes are all there, when some of their pieces share their memory with others', () => {
  const gathered = new Gathered();
  const pieces = ['one', 'y'.repeat(20_000), 'three'];
  for (const piece of pieces) gathered.add(Buffer.from(piece));
  expect(gathered.bytes.toString()).toBe(pieces.join(''));
  gathered.clear();
  expect(gathered).toHaveLength(0);
});
