import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { moduleUrl } from '../../src/base/program.ts';
import { atFullSize } from '../support/sizes.ts';

/** Has young objects live for a while, a quarter of a megabyte every few milliseconds, and prints how long their space got, in bytes. */
const ALLOCATE = `
  import v8 from 'node:v8';
  const kept = [];
  let turns = 0;
  const turn = () => {
    for (let n = 0; n < 100; n++) kept.push(Array.from({ length: 100 }, () => ({ n })));
    if (kept.length > 10_000) kept.splice(0, kept.length - 10_000);
    if (turns++ < 400) setTimeout(turn, 2);
    else console.log(v8.getHeapSpaceStatistics().find((one) => one.space_name === 'new_space').space_size);
  };
  turn();
`;

const MODULE = moduleUrl(new URL('../../src/base/young-space.ts', import.meta.url)).href;

async function sizeAfter(before: string): Promise<number> {
  const script = `import { keepYoungSpaceSmall, letYoungSpaceGrow } from ${JSON.stringify(MODULE)}; ${before}; ${ALLOCATE}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return Number(stdout);
}

describe('the space for young objects', () => {
  atFullSize(test)('grows far, when nothing bounds it', async () => {
    expect(await sizeAfter('')).toBeGreaterThan(34_000_000);
  });

  test('grows, but not far, when it is bounded', async () => {
    const size = await sizeAfter('letYoungSpaceGrow()');
    expect(size).toBeGreaterThanOrEqual(16_000_000);
    expect(size).toBeLessThan(34_000_000);
  });

  test('does not grow, while anything is against it', async () => {
    const against =
      "letYoungSpaceGrow(); keepYoungSpaceSmall('one', true); keepYoungSpaceSmall('other', true)";
    expect(await sizeAfter(`${against}; keepYoungSpaceSmall('one', false)`)).toBeLessThan(8_000_000);
  });

  atFullSize(test)('grows again, when nothing is against it any more', async () => {
    const free = "letYoungSpaceGrow(); keepYoungSpaceSmall('one', true); keepYoungSpaceSmall('one', false)";
    expect(await sizeAfter(free)).toBeGreaterThanOrEqual(16_000_000);
  });
});
