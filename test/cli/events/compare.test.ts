import { expect, test } from '@jest/globals';
import { deskForEachTest, ndjson } from '../../support/event-desk.ts';

const desk = deskForEachTest();

function report(
  name: string,
  outcomes: readonly (readonly [id: string, outcome: string, reason?: string])[],
): string {
  const lines = outcomes.map(([id, outcome, reason]) =>
    JSON.stringify({ v: 1, id, kind: 'media_available', resource: 'media:m', outcome, reason }),
  );
  return desk().write(name, `${lines.join('\n')}\n`);
}

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
  expect(stderr).toBe('hookkit: 1 events ended alike, 1 differently, 1 are in A only, 1 in B only\n');
  const json = await desk().events(['compare', a, b, '--json']);
  expect(ndjson(json.stdout).map(({ id, a, b }) => [id, a, b])).toEqual([
    ['2', 'handled', 'dead'],
    ['3', 'handled', '-'],
    ['4', '-', 'skipped'],
  ]);
});
