import { createRequire } from 'node:module';

// Its types are those of a CommonJS module, whose default an import would take for the whole of it.
type Sequencer = typeof import('@jest/test-sequencer', { with: { 'resolution-mode': 'require' }});
const { default: TestSequencer }: Sequencer = createRequire(import.meta.url)('@jest/test-sequencer');

/** The suites with most work in `npm test`, most first: one that starts last goes on alone, when all others have ended. */
export const LONGEST: readonly string[] = [
  'cli/dev',
  'store/sqlite/conformance',
  'store/memory/conformance',
  'cli/events/replay-rounds',
  'docs/snippets',
  'store/sqlite/log',
  'dispatch/hostile-handlers',
  'scenarios/own-handlers',
  'cli/handlers-check',
  'cli/events/secrecy',
  'cli/events/manual',
  'cli/events/compare',
  'cli/secrecy',
  'scenarios/crashing-handler',
  'scenarios/poison-event',
  'dispatch/app',
  'cli/mock',
  'rooms',
];

/** Suites that wait for the program's own time limits, for seconds each, longest first. They need little processor time. */
export const WAITING: readonly string[] = [
  'base/log',
  'inspector/pages/attention',
  'store/postgres/crashes',
  'store/postgres/versions',
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
