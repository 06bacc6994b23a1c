import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { numberedLines } from '../../src/replay/numbered-lines.ts';
import { anyCharacter } from '../support/any-character.ts';

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const size of sizes) {
    yield bytes.subarray(from, from + size);
    from += size;
  }
  yield bytes.subarray(from);
}

async function linesOf(bytes: Uint8Array, sizes: readonly number[] = []) {
  const lines = [];
  for await (const line of numberedLines(inPieces(bytes, sizes))) lines.push(line);
  return lines;
}

test('gives the lines that a text has, when it comes in pieces of any size, with their numbers', async () => {
  const text = fc.array(
    fc.string({ unit: anyCharacter }).map((line) => line.replace(/[\n\uFEFF\uD800-\uDFFF]/gu, 'ü')),
  );
  const property = fc.asyncProperty(
    text,
    fc.array(fc.nat(9)),
    fc.boolean(),
    async (lines, sizes, isEnded) => {
      const bytes = Buffer.from(lines.join('\n') + (isEnded ? '\n' : ''));
      const expected = lines
        .map((line, index) => ({ number: index + 1, text: line }))
        .filter((line) => line.text.trim() !== '');
      const read = await linesOf(bytes, sizes);
      expect(read.map(({ number, text }) => ({ number, text }))).toEqual(expected);
    },
  );
  await fc.assert(property);
});

test('tells a line that is not UTF-8, when others are, and reads those', async () => {
  const bytes = Buffer.concat([
    Buffer.from('one\n'),
    Buffer.from([0xff, 0xfe, 0x0a]),
    Buffer.from('three\r\n'),
  ]);
  expect(await linesOf(bytes)).toMatchObject([
    { number: 1, text: 'one' },
    { number: 2, text: undefined, problem: 'not valid UTF-8' },
    { number: 3, text: 'three\r' },
  ]);
});

test('tells a line that is too long, when a file has no line breaks, without holding it', async () => {
  const piece = Buffer.alloc(1024 * 1024, 0x78);
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 200; count++) yield piece;
    yield Buffer.from('\nlast');
  }
  const before = process.memoryUsage().arrayBuffers;
  const lines = [];
  for await (const line of numberedLines(endless())) lines.push(line);
  expect(lines).toMatchObject([
    { number: 1, problem: 'longer than 48 MiB' },
    { number: 2, text: 'last' },
  ]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024);
});
