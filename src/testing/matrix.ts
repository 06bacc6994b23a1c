import { randomInt } from 'node:crypto';
import { inspect } from 'node:util';
import { wholeSeconds } from '../base/duration.ts';
import { messageOf } from '../base/errors.ts';
import { seededRandom } from '../base/seeded-random.ts';
import type { Happening } from '../mock/notifications.ts';
import type { Kind } from '../notification/kinds.ts';
import {
  type Check,
  type EveryCrashOptions,
  failing,
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
const SETTLED: Action = { act: (kit) => kit.settled(), line: 'await kit.settled();' };

export interface MatrixOptions<W = unknown> extends Pick<EveryCrashOptions, 'except' | 'mayDie'> {
  /** how many histories are gone through in order, the shortest first; without it 300, of which 12 have crashes */
  readonly most?: number;
  /** how many random ones follow; without it 50, of which 3 have crashes */
  readonly random?: number;
  /** of the random ones; another each time without it */
  readonly seed?: number;
  /** `every`: after all histories, each is played once more for each point at which the process could die, and it dies there */
  readonly crashes?: 'every';
  /** what holds at any time: it is asked after each step of a history, also before handlers have run */
  readonly always?: Check<W>;
}

/**
 * Delivers notifications in every order, with and without time for the handlers between them, with duplicates, with handlers that
 * fail after their work, and with replays; then in random histories of all of that. Everything settles, and is checked.
 * @param happened in the order in which they happened, a second between them
 * @param scenario starts the receiver with everything made afresh, and delivers nothing
 * @throws Error with a history that breaks the check, without the steps that it breaks it without, as a test to paste; its cause is the
 *   error of the check
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
  { always, crashes, most, random, seed = randomInt(2 ** 31), ...options }: MatrixOptions<W> = {},
): Promise<void> {
  const deliveries = happened.map(deliveryOf);
  const replays = [...new Set(happened.map(([kind]) => kind))].map(replayOf);
  const playerWith = (history: History) => {
    const then = async (kit: TestReceiver, world: W) => {
      for (const { act, line } of [...history, SETTLED]) {
        await act(kit);
        try {
          await always?.(kit, world);
        } catch (cause) {
          throw new Error(`after ${line}\n${messageOf(cause)}`, { cause });
        }
      }
    };
    return playerOf({ scenario, check, then, ...options });
  };
  const goThrough = async (play: Play, inOrderMost: number, randomMost: number) => {
    for (const history of inOrder(deliveries, replays).take(inOrderMost))
      await play(history).catch(tell(history, play, deliveries));
    for (const history of atRandom(seed, deliveries, replays).take(randomMost))
      await play(history).catch(tell(history, play, deliveries, ` of seed ${seed}`));
  };
  await goThrough((history) => playerWith(history)(() => false), most ?? 300, random ?? 50);
  if (crashes)
    await goThrough((history) => playCrashes(playerWith(history), options), most ?? 12, random ?? 3);
}

/** Plays a history, and checks. @throws Error with what breaks the check */
type Play = (history: History) => Promise<void>;

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
function* atRandom(seed: number, deliveries: History, replays: History): Generator<History> {
  const random = seededRandom(seed);
  const actions = [...deliveries, ...deliveries, HANDLED, FAIL, PASS, ...replays];
  for (;;) {
    const length = Math.floor(random() * (4 * deliveries.length + 1));
    const history = Array.from({ length }, () => actions[Math.floor(random() * actions.length)] ?? HANDLED);
    yield [...history, ...deliveries.filter((delivery) => !history.includes(delivery))];
  }
}

/** Tells of a history that breaks the check, without the steps that it breaks it without; each notification stays once. */
function tell(history: History, play: Play, deliveries: History, ofSeed = '') {
  return async (found: unknown): Promise<never> => {
    let [shortest, error] = [history, found];
    for (const place of [...history.keys()].reverse()) {
      const without = shortest.toSpliced(place, 1);
      if (!deliveries.every((delivery) => without.includes(delivery))) continue;
      await play(without).catch((its) => {
        [shortest, error] = [without, its];
      });
    }
    return failing(testOf(shortest, ofSeed))(error);
  };
}

/** A history as a test to paste. */
function testOf(history: History, ofSeed: string): string {
  const begin = 'const kit = await testReceiver({ handlers });';
  const lines = [begin, ...[...history, SETTLED].map(({ line }) => line), '// and your check'];
  const pasted = lines.map((line) => `  ${line}\n`).join('');
  return `this history${ofSeed} breaks the check:\n\n${pasted}\n`;
}
