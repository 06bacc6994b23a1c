import { expect, test } from '@jest/globals';
import { checkEnds } from '../../src/replay/replay-to-handlers.ts';

test.each([
  [{ handled: 2 }, {}, undefined],
  [{ handled: 1, dead: 1 }, {}, '1 event ended as dead (--fail-on none allows it)'],
  [{ handled: 1, dead: 1 }, { failOn: 'none' }, undefined],
  [{ dead: 2 }, { expect: 'dead' }, undefined],
  [{ handled: 1, skipped: 2 }, { expect: 'handled' }, '2 events did not end as handled'],
  [{ pending: 1, running: 1 }, { failOn: 'none' }, '2 events had not ended in time: raise --timeout'],
] as const)('judges ends of %j, when %j is expected, with %j', (counts, expectation, problem) => {
  const ends = new Map(Object.entries(counts)) as Parameters<typeof checkEnds>[0];
  const check = () => checkEnds(ends, expectation);
  if (problem === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'REPLAY_FAILED', message: problem }));
});
