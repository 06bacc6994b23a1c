import { randomInt } from 'node:crypto';
import { inspect } from 'node:util';
import { wholeSeconds } from '../base/duration.ts';
import { seededRandom } from '../base/seeded-random.ts';
import type { Happening } from '../mock/notifications.ts';
import type { Kind } from '../notification/kinds.ts';
import { type Check, failing, type PlayOptions, play, playCrashes, type Scenario } from './every-crash.ts';
import type { TestReceiver } from './test-receiver.ts';

/** A step of a history: as it is done, and as a line of a test. */
interface Action {
  act(kit: TestReceiver): unknown;
  readonly line: string;
  /** whether reminders were set after it, when it was played */
  readonly isReminding?: boolean;
}

type History = readonly Action[];

const HANDLED: Action = { act: (kit) => kit.handled(), line: 'await kit.handled();' };
const FAIL: Action = { act: (kit) => kit.failNext('all'), line: "kit.failNext('all');" };
const PASS: Action = { act: (kit) => kit.advance('1h'), line: "await kit.advance('1h');" };
const SETTLED: Action = { act: (kit) => kit.settled(), line: 'await kit.settled();' };
const DUE: Action = { act: (kit) => kit.advance('reminder'), line: "await kit.advance('reminder');" };
/** How many reminders come at the end of a history, at most: one may be set again for ever. */
const MOST_DUE = 20;

export interface MatrixOptions<W = unknown> extends Pick<PlayOptions<W>, 'except' | 'mayDie'> {
  /** how many histories are gone through in order, the shortest first; without it 300, of which 12 have crashes */
  readonly most?: number;
  /** how many random ones follow; without it 50, of which 3 have crashes */
  readonly random?: number;
  /** the seed of the random ones; another one each time without it */
  readonly seed?: number;
  /** `every`: after all histories, each is played once more for each point at which the process could die, and it dies there */
  readonly crashes?: 'every';
  /** what holds at any time: it is asked after each step of a history, also before handlers have run */
  readonly always?: Check<W>;
}

/**
 * Delivers notifications in every order, with and without time for the handlers between them, with duplicates, with handlers that
 * fail after their work, and with replays; then in random histories of all of that. Where handlers set reminders, each order is played
 * with one that comes due between two notifications, too; what is set in the end comes due. Everything settles, and is checked. Subscribers share
 * nothing, so that one history tries them all: each fails, and each is replayed.
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
  /** the history that was played last, with its end */
  const last: Action[] = [];
  const goThrough = async (plays: typeof play | typeof playCrashes, ordered: number, mixed: number) => {
    const playing: Play = (history) => {
      const then = async (kit: TestReceiver, world: W) => {
        last.splice(0, Infinity, ...history, SETTLED);
        for (const [place, { act, line }] of last.entries()) {
          await act(kit);
          await Promise.try(() => always?.(kit, world)).catch(failing(`after ${line}\n`));
          const isReminding = (await kit.reminders()).length > 0;
          const isLast = place + 1 === last.length && place < history.length + 2 * MOST_DUE;
          last[place] = { act, line, isReminding };
          if (isReminding && isLast) last.push(DUE, SETTLED);
        }
      };
      return plays({ scenario, check, then, ...options });
    };
    const tell = telling(playing, deliveries, last);
    for (const history of inOrder(deliveries, replays, last).take(ordered))
      await playing(history).catch(tell(history));
    for (const history of atRandom(seed, deliveries, replays).take(mixed))
      await playing(history).catch(tell(history, ` of seed ${seed}`));
  };
  await goThrough(play, most ?? 300, random ?? 50);
  if (crashes) await goThrough(playCrashes, most ?? 12, random ?? 3);
}

/** Plays a history, and checks. @throws Error with what breaks the check */
type Play = (history: History) => Promise<unknown>;

/** With its event time, so that any order of arrival means the same. */
function deliveryOf([kind, given = {}]: Happening, index: number): Action {
  const members = { event_time: wholeSeconds(Date.UTC(2026, 0, 1, 0, 0, index)), ...given };
  const line = `await kit.deliver('${kind}', ${inspect(members, { breakLength: Infinity })});`;
  return { act: (kit) => kit.deliver<Kind>(kind, members), line };
}

function replayOf(kind: Kind | 'reminder'): Action {
  return { act: (kit) => kit.replay({ kind }), line: `await kit.replay({ kind: '${kind}' });` };
}

/**
 * Histories, the shortest first: each order by itself, with time between, and there with a reminder that comes due at each place at which
 * one is set, also one that fails, and one that is replayed; with one duplicate, with one failure, with replays.
 */
function* inOrder(deliveries: History, replays: History, last: History): Generator<History> {
  const apart = (order: History) => order.flatMap((delivery) => [delivery, HANDLED]);
  yield* orders(deliveries);
  for (const order of orders(deliveries)) {
    const history = apart(order);
    yield history;
    for (const [place, { isReminding }] of [...last].entries()) {
      if (!isReminding || history[place] !== HANDLED) continue;
      const due = [DUE, HANDLED];
      for (const actions of [due, [FAIL, ...due], [...due, replayOf('reminder')]])
        yield history.toSpliced(place + 1, 0, ...actions);
    }
  }
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
  const actions = [...deliveries, ...deliveries, HANDLED, FAIL, PASS, DUE, ...replays];
  for (;;) {
    const length = Math.floor(random() * (4 * deliveries.length + 1));
    const history = Array.from({ length }, () => actions[Math.floor(random() * actions.length)] ?? HANDLED);
    yield [...history, ...deliveries.filter((delivery) => !history.includes(delivery))];
  }
}

/** Tells of a history that breaks the check, without the steps that it breaks it without. Each notification stays once. */
function telling(play: Play, deliveries: History, last: History) {
  return (history: History, ofSeed = '') =>
    async (found: unknown): Promise<never> => {
      let [shortest, steps, error] = [history, [...last], found];
      for (const place of [...history.keys()].reverse()) {
        const without = shortest.toSpliced(place, 1);
        if (!deliveries.every((delivery) => without.includes(delivery))) continue;
        await play(without).catch((its) => ([shortest, steps, error] = [without, [...last], its]));
      }
      const lines = ['const kit = await testReceiver(options);', ...steps.map(({ line }) => line)];
      const test = [...lines, '// and your check'].map((line) => `  ${line}\n`).join('');
      return failing(`this history${ofSeed} breaks the check:\n\n${test}\n`)(error);
    };
}
