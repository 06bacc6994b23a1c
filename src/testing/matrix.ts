import { inspect } from 'node:util';
import type { Arbitrary, default as FastCheck } from 'fast-check';
import { wholeSeconds } from '../base/duration.ts';
import type { Kind } from '../notification/kinds.ts';
import { type Check, playerOf, type Scenario } from './every-crash.ts';
import type { Happening } from './notifications.ts';
import type { TestReceiver } from './test-receiver.ts';

/** What happens in a history, one after the other. */
type Action =
  /** the notification in this place of the list arrives, perhaps not for the first time */
  | number
  /** what has arrived is handled before anything else arrives */
  | 'handled'
  /** the next run of a handler fails after its work */
  | 'fail'
  /** time passes: what waits for a retry is due */
  | 'pass';

type History = readonly Action[];

export interface MatrixOptions {
  /** how many histories are gone through in order, the shortest first; 300 without it */
  readonly most?: number;
  /** how many random ones follow; 50 without it */
  readonly random?: number;
  /** whether events may end as dead; without it, that breaks the check */
  readonly mayDie?: boolean;
  /** of the random ones; another each time without it */
  readonly seed?: number;
}

/**
 * Delivers notifications in every order, with and without time for the handlers between them, with duplicates and with
 * handlers that fail after their work; then in random histories of all of that. Everything settles, and is checked.
 * @param happened in the order in which they happened, a second between them
 * @param scenario starts the receiver with everything made afresh, and delivers nothing
 * @returns how many histories were played
 * @throws Error with the shortest history that breaks the check, as a test to paste; its cause is the error of the check
 * @example
 * await matrix(
 *   [['channel_active', { channel_id: 'c' }], ['channel_idle', { channel_id: 'c' }]],
 *   async (start) => {
 *     const board = new Board();
 *     await start({ handlers: showing(board) });
 *     return board;
 *   },
 *   (_kit, board) => assert.equal(board.get('c'), 'idle'),
 * );
 */
export async function matrix<W>(
  happened: readonly Happening[],
  scenario: Scenario<W>,
  check: Check<W>,
  { most = 300, random = 50, mayDie = false, seed }: MatrixOptions = {},
): Promise<number> {
  const timed = happened.map(atItsTime);
  const play = playerOf(scenario, check, mayDie);
  let played = 0;
  const failureOf = (history: History) => {
    played++;
    return play(
      () => false,
      async (kit) => {
        for (const action of history) await act(kit, action, timed);
      },
    );
  };
  for (const history of inOrder(happened.length)) {
    if (played === most) break;
    const failed = await failureOf(history);
    if (failed) throw broken(history, timed, failed);
  }
  // Of all that the kit loads, only this is not there in production.
  const { default: fc } = await import('fast-check').catch((cause) => {
    const advice = 'npm install --save-dev fast-check';
    throw new Error(`matrix needs fast-check for random histories: ${advice}`, { cause });
  });
  const holds = async (history: History) => (await failureOf(history)) === undefined;
  const property = fc.asyncProperty(randomHistory(fc, happened.length), holds);
  const details = await fc.check(property, { numRuns: random, ...(seed !== undefined && { seed }) });
  const [history] = details.counterexample ?? [];
  if (history) throw broken(history, timed, (await failureOf(history)) ?? new Error('it fails now and then'));
  return played;
}

/** With its event time, so that any order of arrival means the same. */
function atItsTime([kind, members = {}]: Happening, index: number): Happening {
  const { event_time = wholeSeconds(Date.UTC(2026, 0, 1, 0, 0, index)), ...others } = members;
  return [kind, { event_time, ...others }] as Happening;
}

async function act(kit: TestReceiver, action: Action, timed: readonly Happening[]): Promise<void> {
  if (action === 'handled') return kit.handled();
  if (action === 'fail') return kit.failNext();
  if (action === 'pass') return kit.advance('1h');
  const [kind, members] = timed[action] as Happening;
  await kit.deliver<Kind>(kind, members);
}

/** Histories, the shortest first: each order by itself, with time between, with one duplicate, with one failure. */
function* inOrder(count: number): Generator<History> {
  const places = Array.from({ length: count }, (_, place) => place);
  const apart = (order: readonly number[]) => order.flatMap((place): Action[] => [place, 'handled']);
  yield* orders(places);
  for (const order of orders(places)) yield apart(order);
  for (const order of orders(places)) {
    for (const again of order) yield [...apart(order), again];
    for (const at of order.keys()) yield [...apart(order.slice(0, at)), 'fail', ...apart(order.slice(at))];
  }
}

/** All orders of some places, that of the list first. */
function* orders(places: readonly number[]): Generator<number[]> {
  if (places.length === 0) yield [];
  for (const first of places) {
    const others = places.filter((place) => place !== first);
    for (const rest of orders(others)) yield [first, ...rest];
  }
}

/** Each notification at least once, in any order, with anything between them. */
function randomHistory(fc: typeof FastCheck, count: number): Arbitrary<History> {
  const between = fc.oneof(fc.nat(count - 1), fc.constantFrom<Action>('handled', 'fail', 'pass'));
  const all = fc.shuffledSubarray([...Array(count).keys()], { minLength: count });
  const most = 3 * count;
  return fc
    .tuple(all, fc.array(fc.tuple(fc.nat(most), between), { maxLength: most }))
    .map(([order, insertions]) => {
      const history: Action[] = [...order];
      for (const [at, action] of insertions) history.splice(at % (history.length + 1), 0, action);
      return history;
    });
}

const LINES = {
  handled: 'await kit.handled();',
  fail: 'kit.failNext();',
  pass: "await kit.advance('1h');",
};

function broken(history: History, timed: readonly Happening[], { message, cause }: Error): Error {
  const lines = history.map((action) => {
    if (typeof action === 'string') return LINES[action];
    const [kind, members = {}] = timed[action] as Happening;
    return `await kit.deliver('${kind}', ${inspect(members, { breakLength: Infinity })});`;
  });
  const begin = 'const kit = await testReceiver({ handlers });';
  const test = [begin, ...lines, 'await kit.settled();', '// and your check'];
  const pasted = test.map((line) => `  ${line}`).join('\n');
  return new Error(`this history breaks the check:\n\n${pasted}\n\n${message}`, { cause });
}
