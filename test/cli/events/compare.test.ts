import { readdirSync, writeFileSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest, ndjson } from '../../support/event-desk.ts';
import { size } from '../../support/sizes.ts';

const desk = deskForEachTest();
jest.setTimeout(120_000); // processes on a busy machine

function report(
  name: string,
  outcomes: readonly (readonly [id: string, outcome: string, reason?: string])[],
): string {
  const lines = outcomes.map(([id, outcome, reason]) =>
    JSON.stringify({ v: 1, id, kind: 'media_available', resource: 'media:m', outcome, reason }),
  );
  return desk().write(name, `${lines.join('\n')}\n`);
}

test('finds nothing, when two reports differ in order and reasons only, and ends with 0', async () => {
  const a = report('a', [
    ['1', 'handled'],
    ['2', 'dead', 'one reason'],
  ]);
  const b = report('b', [
    ['2', 'dead', 'another'],
    ['1', 'handled'],
  ]);
  expect(await desk().events(['compare', a, b])).toEqual({
    code: 0,
    stdout: '',
    stderr: '2 events ended alike, 0 differently, 0 are in A only, 0 in B only\n',
  });
  const strict = await desk().events(['compare', a, b, '--reasons']);
  expect(strict).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('dead (one reason)  dead (another)'),
  });
});

test('shows what ended differently or is in one only, when there is such, and ends with 1', async () => {
  const a = report('a', [
    ['1', 'handled'],
    ['2', 'handled'],
    ['3', 'handled'],
  ]);
  const b = report('b', [
    ['1', 'handled'],
    ['2', 'dead'],
    ['4', 'skipped'],
  ]);
  const { code, stdout, stderr } = await desk().events(['compare', a, b]);
  expect(code).toBe(1);
  expect(stdout.split('\n').slice(2, -1)).toEqual(
    [
      '2   media_available  media:m   handled  dead',
      '3   media_available  media:m   handled  -',
      '4   media_available  media:m   -        skipped',
    ].map((line) => expect.stringMatching(new RegExp(`^ *${line.replace(/ +/g, ' +')}$`))),
  );
  expect(stderr).toBe('1 events ended alike, 1 differently, 1 are in A only, 1 in B only\n');
  const json = await desk().events(['compare', a, b, '--json']);
  expect(ndjson(json.stdout).map(({ id, a, b }) => [id, a, b])).toEqual([
    ['2', 'handled', 'dead'],
    ['3', 'handled', '-'],
    ['4', '-', 'skipped'],
  ]);
});

test('counts every delivery, when an event was sent twice', async () => {
  const a = report('a', [
    ['1', 'accepted'],
    ['1', 'duplicate'],
  ]);
  const b = report('b', [['1', 'accepted']]);
  const { stdout } = await desk().events(['compare', a, b, '--json']);
  expect(ndjson(stdout)).toMatchObject([{ a: 'accepted, duplicate', b: 'accepted' }]);
});

test('tells lines that are broken, when a report has some, and ends with 1', async () => {
  const a = report('a', [['1', 'handled']]);
  const b = desk().write(
    'b',
    `${JSON.stringify({ v: 1, id: '1', kind: 'k', resource: 'r', outcome: 'handled' })}\n{"v":9}\nx\n`,
  );
  const { code, stderr } = await desk().events(['compare', a, b]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${b}, line 2: not a line of a report\n${b}, line 3: not a line of a report\n`);
});

test('says so, when a report is not there, and ends with 2', async () => {
  const { code, stderr } = await desk().events(['compare', 'nowhere', 'nowhere']);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/cannot read the report nowhere: ENOENT/),
  });
});

/**
 * Tells the most memory that the process has held, in KiB. On Linux, `maxRSS` counts the process that started it as well, until it became the
 * program: a test runner may be larger than what it tests.
 */
const tellMemory = encodeURIComponent(`
  import { readFileSync } from 'node:fs';
  process.on('exit', () => {
    const own = process.platform === 'linux' && /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    process.stderr.write('largest ' + (own || process.resourceUsage().maxRSS));
  });
`);

test('takes little memory and leaves no file, when everything in two long reports differs, whatever their order', async () => {
  const count = size({ small: 50_000, full: 250_000 });
  const numbers = Array.from({ length: count }, (_, number) => number);
  const long = (name: string, order: readonly number[], outcome: string) => {
    const lines = order.map((number) => {
      const id = `${number.toString(36).padStart(8, '0')}-${'0'.repeat(20)}`;
      return JSON.stringify({ v: 1, id, kind: 'media_available', resource: `media:${number}`, outcome });
    });
    writeFileSync(desk().path(name), `${lines.join('\n')}\n`);
    return desk().path(name);
  };
  const a = long('a', numbers, 'handled');
  const b = long('b', numbers.toReversed(), 'dead');
  const env = {
    // Too little for what is in the reports: it ends the process if they are kept in memory.
    NODE_OPTIONS: `--max-old-space-size=${size({ small: 20, full: 48 })} --import=data:text/javascript,${tellMemory}`,
    SQLITE_TMPDIR: desk().directory,
  };
  const short = report('short', [['1', 'handled']]);
  await desk().spawnEvents(['compare', short, short]); // has everything compiled
  const { code, stdout, stderr } = await desk().spawnEvents(['compare', a, b], { env });
  expect(code).toBe(1);
  expect(stdout.match(/media_available .* handled +dead$/gm)).toHaveLength(count);
  const [, differing, largest] =
    /^0 events ended alike, (\d+) differently, 0 are in A only, 0 in B only\nlargest (\d+)$/.exec(stderr) ??
    [];
  expect(Number(differing)).toBe(count);
  expect(Number(largest) / 1024).toBeGreaterThan(10);
  expect(Number(largest) / 1024).toBeLessThan(300);
  expect(readdirSync(desk().directory).sort()).toEqual(['a', 'b', 'short']);
});
