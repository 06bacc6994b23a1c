import { inspect } from 'node:util';
import type { Arbitrary, default as FastCheck } from 'fast-check';
import { wholeSeconds } from '../base/duration.ts';
import type { Happening } from '../mock/notifications.ts';
import type { Kind } from '../notification/kinds.ts';
import {
  type Check,
  type EveryCrashOptions,
  failing,
  type Player,
  playCrashes,
  playerOf,
  type Scenario,
} from './every-crash.ts';
import type { TestReceiver } from './test-receiver.ts';

/** What happens in a history: as it is done, and as a line of a test. */
interface Action {
  act(kit: TestReceiver): unknown;
  readonly line: string;
}

type History = readonly Action[];

const HANDLED: Action = { act: (kit) => kit.handled(), line: 'await kit.handled();' };
const FAIL: Action = { act: (kit) => kit.failNext(), line: 'kit.failNext();' };
const PASS: Action = { act: (kit) => kit.advance('1h'), line: "await kit.advance('1h');" };

export interface MatrixOptions extends Pick<EveryCrashOptions, 'except' | 'mayDie'> {
  /** how many histories are gone through in order, the shortest first; without it 300, or 12 with crashes */
  readonly most?: number;
  /** how many random ones follow; without it 50, or 3 with crashes */
  readonly random?: number;
  /** of the random ones; another each time without it */
  readonly seed?: number;
  /** `every`: each history is played once more for each point at which the process could die, and it dies there */
  readonly crashes?: 'every';
}

/**
 * Delivers notifications in every order, with and without time for the handlers between them, with duplicates, with handlers that
 * fail after their work, and with replays; then in random histories of all of that. Everything settles, and is checked.
 * @param happened in the order in which they happened, a second between them
 * @param scenario starts the receiver with everything made afresh, and delivers nothing
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
  { crashes, most = crashes ? 12 : 300, random = crashes ? 3 : 50, seed, ...options }: MatrixOptions = {},
): Promise<void> {
  const play = playerOf(scenario, check, options.mayDie);
  const played = (history: History) => {
    const withHistory: Player = (diesAt) =>
      play(diesAt, async (kit) => {
        for (const { act } of history) await act(kit);
      });
    return crashes ? playCrashes(withHistory, options) : withHistory(() => false);
  };
  const deliveries = happened.map(deliveryOf);
  const replays = [...new Set(happened.map(([kind]) => kind))].map(replayOf);
  for (const history of inOrder(deliveries, replays).take(most))
    await played(history).catch(failing(testOf(history)));
  // Of all that the kit loads, only this is not there in production.
  const { default: fc } = await import('fast-check');
  const property = fc.asyncProperty(randomHistory(fc, deliveries, replays), played);
  const settings = { numRuns: random, ...(seed !== undefined && { seed }) };
  const { counterexample, errorInstance, seed: its } = await fc.check(property, settings);
  if (counterexample) failing(testOf(counterexample[0], ` of seed ${its}`))(errorInstance);
}

/** With its event time, so that any order of arrival means the same. */
function deliveryOf([kind, given = {}]: Happening, index: number): Action {
  const members = { event_time: wholeSeconds(Date.UTC(2026, 0, 1, 0, 0, index)), ...given };
  const line = `await kit.deliver('${kind}', ${inspect(members, { breakLength: Infinity })});`;
  return { act: (kit) => kit.deliver<Kind>(kind, members), line };
}

function replayOf(kind: Kind): Action {
  return { act: (kit) => kit.replay({ kind }), line: `await kit.replay({ kind: '${kind}' });` };
}

/** Histories, the shortest first: each order by itself, with time between, with one duplicate, with one failure, with replays. */
function* inOrder(deliveries: History, replays: History): Generator<History> {
  const apart = (order: History) => order.flatMap((delivery) => [delivery, HANDLED]);
  yield* orders(deliveries);
  for (const order of orders(deliveries)) yield apart(order);
  for (const order of orders(deliveries)) {
    for (const again of [...order, ...replays]) yield [...apart(order), again];
    for (const at of order.keys()) yield [...apart(order.slice(0, at)), FAIL, ...apart(order.slice(at))];
  }
}

/** All orders of some deliveries, that of the list first. */
function* orders(deliveries: History): Generator<History> {
  if (deliveries.length === 0) yield [];
  for (const first of deliveries) {
    const others = deliveries.filter((delivery) => delivery !== first);
    for (const rest of orders(others)) yield [first, ...rest];
  }
}

/** Anything in any order; what was not delivered by then comes at the end. */
function randomHistory(fc: typeof FastCheck, deliveries: History, replays: History): Arbitrary<History> {
  const actions = fc.constantFrom(...deliveries, ...deliveries, HANDLED, FAIL, PASS, ...replays);
  return fc
    .array(actions, { maxLength: 4 * deliveries.length })
    .map((history) => [...history, ...deliveries.filter((delivery) => !history.includes(delivery))]);
}

/** A history as a test to paste. */
function testOf(history: History, ofSeed = ''): string {
  const begin = 'const kit = await testReceiver({ handlers });';
  const lines = [begin, ...history.map(({ line }) => line), 'await kit.settled();', '// and your check'];
  const pasted = lines.map((line) => `  ${line}\n`).join('');
  return `this history${ofSeed} breaks the check:\n\n${pasted}\n`;
}
