import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { moduleUrl } from '../../src/base/program.ts';

/**
 * Takes another object in place of the oldest of 400,000, over and over, so that what is garbage is old, and prints how long the space for
 * old objects was at most, in MB; of what is alive it has some 25. Before its first collection V8 goes by other bounds.
 */
const REPLACE = `
  import v8 from 'node:v8';
  const some = () => Array.from({ length: 100 }, (_, n) => ({ n }));
  const alive = Array.from({ length: 4000 }, some);
  gc();
  let oldest = 0;
  let most = 0;
  let turns = 0;
  const turn = () => {
    for (let n = 0; n < PER_TURN; n++) alive[oldest++ % alive.length] = some();
    const { space_size } = v8.getHeapSpaceStatistics().find((one) => one.space_name === 'old_space');
    if (turns++ > TURNS / 4) most = Math.max(most, space_size);
    if (turns < TURNS) again(turn);
    else console.log(most / 1e6);
  };
  turn();
`;
/** With pauses, the process is busy for a sixth of its time. */
const AT_EASE = 'const PER_TURN = 60; const TURNS = 1200; const again = (turn) => setTimeout(turn, 3);';
const BUSY = 'const PER_TURN = 40; const TURNS = 10_000; const again = setImmediate;';

const MAY_GROW = "(await import('node:v8')).setFlagsFromString('--heap-growing-percent=300')";

const MODULE = moduleUrl(new URL('../../src/base/bounded-heap.ts', import.meta.url)).href;

async function mostOf(call: string, load: string): Promise<number> {
  const script = `import { boundHeap, keepHeapSmall } from ${JSON.stringify(MODULE)}; ${call}; ${load}; ${REPLACE}`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    '--input-type=module',
    '-e',
    script,
  ]);
  return Number(stdout);
}

describe('the space for old objects', () => {
  // So far V8 goes by itself on a machine that has time. In pauses it may collect what it does not have to.
  test('grows far, when it may become four times as large and the process is busy', async () => {
    expect(await mostOf(MAY_GROW, BUSY)).toBeGreaterThan(75);
  });

  test('grows by a fifth, when it is bounded and the process at ease', async () => {
    expect(await mostOf('boundHeap()', AT_EASE)).toBeLessThan(45);
  });

  test('may double, when it is bounded and the process busy', async () => {
    const most = await mostOf('boundHeap()', BUSY);
    expect(most).toBeGreaterThan(50);
    expect(most).toBeLessThan(90);
  });

  test('grows by a fifth in a command that goes through very many events', async () => {
    expect(await mostOf('boundHeap(); keepHeapSmall()', AT_EASE)).toBeLessThan(45);
  });
});
