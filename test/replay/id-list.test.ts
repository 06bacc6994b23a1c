import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { IdList } from '../../src/replay/await-ends.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function bytesOutsideOfTheHeap(): number {
  for (let round = 0; round < 3; round++) collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

const PAGES = 400;
const idOf = (number: number) => `mk3x${String(number).padStart(7, '0')}-0123456789abcdef0123`;

test('ids take little more memory than their text, when much else is made of bytes meanwhile', () => {
  const ids = new IdList();
  const before = bytesOutsideOfTheHeap();
  let text = 0;
  for (let page = 0; page < PAGES; page++) {
    const added = Array.from({ length: 500 }, (_, index) => idOf(page * 500 + index));
    text += added.join('\n').length;
    ids.add(added);
    for (let other = 0; other < 500; other++) Buffer.from('0123456789'.repeat(10)); // as queries of many ids make
  }
  expect(bytesOutsideOfTheHeap() - before).toBeLessThan(1.2 * text);
  expect([...ids.pages()].flat()).toEqual(Array.from({ length: PAGES * 500 }, (_, index) => idOf(index)));
});
