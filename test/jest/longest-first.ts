import { createRequire } from 'node:module';

// Its types are those of a CommonJS module, whose default an import would take for the whole of it.
type Sequencer = typeof import('@jest/test-sequencer', { with: { 'resolution-mode': 'require' }});
const { default: TestSequencer }: Sequencer = createRequire(import.meta.url)('@jest/test-sequencer');

/** The suites with most work in `npm test`, most first: one that starts last goes on alone, when all others have ended. */
export const LONGEST: readonly string[] = [
  'browser/actions',
  'browser/pages',
  'cli/dev-terminal',
  'replay/portable-reason',
  'docs/testing',
  'scenarios/errors-left-behind',
  'store/sqlite/conformance-without-threads',
  'store/sqlite/conformance',
  'store/sqlite/log',
  'cli/dev',
  'cli/events/replay-rounds',
  'cli/events/secrecy',
  'cli/init',
  'scenarios/own-handlers',
  'cli/closed-pipe',
  'store/sqlite/move-killed',
  'browser/markup',
  'scenarios/poison-event',
  'store/memory/conformance',
  'docs/snippets',
  'dispatch/app',
  'cli/mock',
  'scenarios/stopped-under-load',
  'rooms',
];

/** Suites that wait for the program's own time limits, for seconds each, longest first. They need little processor time. */
export const WAITING: readonly string[] = [
  'cli/events/replay-handlers',
  'store/sqlite/move-refused',
  'scenarios/private-files',
  'scenarios/disk-trouble',
  'base/log',
  'scenarios/refused-starts',
  'receiver/slow-clients',
  'store/sqlite/locked-out',
  'scenarios/clock-jumps',
];

/** Of so many suites at the beginning, one waits. When several wait at the same time, no worker has anything to do. */
const TURN = 4;

/** What the order goes by; a duration is that of an earlier run here. */
interface Suite {
  readonly path: string;
  readonly duration?: number | undefined;
}

const placeIn = (list: readonly string[], { path }: Suite) =>
  list.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));

/**
 * Puts suites into the order in which they start.
 * @param sorted as Jest would start them: those first of which no run is known, then by how long each took
 */
export function inOrder<T extends Suite>(sorted: readonly T[]): T[] {
  const early = (suite: T) => {
    const place = suite.duration === undefined ? placeIn(LONGEST, suite) : -1;
    return place === -1 ? LONGEST.length : place;
  };
  const isWaiting = (suite: T) => placeIn(WAITING, suite) !== -1;
  const waiting = sorted
    .filter(isWaiting)
    .toSorted((one, other) => placeIn(WAITING, one) - placeIn(WAITING, other));
  const working = sorted
    .filter((suite) => !isWaiting(suite))
    .toSorted((one, other) => early(one) - early(other));
  const turns = waiting.flatMap((suite, turn) => [
    suite,
    ...working.slice(turn * (TURN - 1), (turn + 1) * (TURN - 1)),
  ]);
  return [...turns, ...working.slice(waiting.length * (TURN - 1))];
}

/**
 * Jest starts the longest suites first once it knows how long each took. In a clean clone it would go by the sizes of their
 * files, so that some of the longest start last; and it would have all suites that wait do so at the same time.
 */
export default class LongestFirst extends TestSequencer {
  override async sort(tests: Parameters<InstanceType<Sequencer['default']>['sort']>[0]) {
    return inOrder(await super.sort(tests));
  }
}
