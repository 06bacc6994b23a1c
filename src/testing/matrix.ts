import type { Arbitrary, default as FastCheck } from 'fast-check';
import type { Kind } from '../notification/kinds.ts';
import { type Check, type Failed, play, type Scenario, unlessDead } from './every-crash.ts';
import type { Happening } from './notifications.ts';
import type { TestReceiver } from './test-receiver.ts';

/** One thing that happens in a history. */
type Action =
  /** a notification arrives, by its place in the list, perhaps not for the first time */
  | { readonly type: 'deliver'; readonly place: number }
  /** what has arrived is handled before anything else arrives */
  | { readonly type: 'handled' }
  /** the next run of a handler fails after its work */
  | { readonly type: 'fail' }
  /** time passes: what waits for a retry is due */
  | { readonly type: 'pass' };

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
  { most = MOST, random = RANDOM, mayDie = false, seed }: MatrixOptions = {},
): Promise<number> {
  if (happened.length === 0) throw new RangeError('a matrix needs one notification at least');
  for (const [name, count] of Object.entries({ most, random }))
    if (!(Number.isInteger(count) || count === Infinity) || count < 0)
      throw new RangeError(`${name} is a number of histories, 0 or more, and not ${count}`);
  if (most + random < 1) throw new RangeError('most and random are both 0: there is no history to play');
  const timed = happened.map(atItsTime);
  const checked = mayDie ? check : unlessDead(check);
  const failureOf = (history: History) =>
    play(
      scenario,
      checked,
      () => false,
      async (kit) => {
        for (const action of history) await act(kit, action, timed);
      },
    );
  let played = 0;
  for (const history of inOrder(happened.length)) {
    if (played === most) break;
    played++;
    const failed = await failureOf(history);
    if (failed) throw broken(history, timed, failed);
  }
  const fc = await library();
  const details = await fc.check(
    fc.asyncProperty(randomHistory(fc, happened.length), async (history) => {
      played++;
      return (await failureOf(history)) === undefined;
    }),
    { numRuns: random, ...(seed !== undefined && { seed }) },
  );
  const [history] = details.counterexample ?? [];
  const failed = history && (await failureOf(history));
  if (history)
    throw broken(
      history,
      timed,
      failed ?? { message: 'it fails now and then', cause: details.errorInstance },
    );
  if (details.failed) throw details.errorInstance ?? new Error('the random histories could not be played');
  return played;
}

const MOST = 300;
const RANDOM = 50;
const START = Date.UTC(2026, 0, 1);

type Library = typeof FastCheck;

/**
 * Loaded when it is first needed: of all that the kit loads, only this is not there in production.
 * @throws Error that says what to install
 */
async function library(): Promise<Library> {
  try {
    return (await import('fast-check')).default;
  } catch (cause) {
    throw new Error('matrix needs fast-check for random histories: npm install --save-dev fast-check', {
      cause,
    });
  }
}

/** With its event time, so that any order of arrival means the same. */
function atItsTime([kind, members = {}]: Happening, index: number): Happening {
  const usual = `${new Date(START + 1000 * index).toISOString().slice(0, 19)}+00:00`;
  const { event_time = usual, ...others } = members;
  return [kind, { event_time, ...others }] as Happening;
}

async function act(kit: TestReceiver, action: Action, timed: readonly Happening[]): Promise<void> {
  if (action.type === 'handled') return kit.handled();
  if (action.type === 'fail') return kit.failNext();
  if (action.type === 'pass') return kit.advance('1h');
  const [kind, members] = timed[action.place] as Happening;
  await kit.deliver<Kind>(kind, members);
}

/** Histories, the shortest first: each order by itself, with time between, with one duplicate, with one failure. */
function* inOrder(count: number): Generator<History> {
  const deliver = (place: number): Action => ({ type: 'deliver', place });
  const handled: Action = { type: 'handled' };
  for (const order of orders(count)) yield order.map(deliver);
  for (const order of orders(count)) yield order.flatMap((place) => [deliver(place), handled]);
  for (const order of orders(count)) {
    for (const again of order) yield [...order.flatMap((place) => [deliver(place), handled]), deliver(again)];
    for (const at of order.keys()) {
      const until = order.slice(0, at).flatMap((place) => [deliver(place), handled]);
      const from = order.slice(at).flatMap((place) => [deliver(place), handled]);
      yield [...until, { type: 'fail' }, ...from];
    }
  }
}

/** All orders of so many, that of the list first. */
function* orders(
  count: number,
  places: readonly number[] = Array.from({ length: count }, (_, place) => place),
): Generator<number[]> {
  if (places.length === 0) yield [];
  for (const first of places) {
    for (const rest of orders(
      count,
      places.filter((place) => place !== first),
    ))
      yield [first, ...rest];
  }
}

/** Each notification at least once, in any order, with anything between them. */
function randomHistory(fc: Library, count: number): Arbitrary<History> {
  const place = fc.nat(count - 1).map((at): Action => ({ type: 'deliver', place: at }));
  const other = fc.constantFrom<Action>({ type: 'handled' }, { type: 'fail' }, { type: 'pass' });
  const all = fc.shuffledSubarray([...Array(count).keys()], { minLength: count });
  return fc
    .tuple(all, fc.array(fc.tuple(fc.nat(3 * count), fc.oneof(place, other)), { maxLength: 3 * count }))
    .map(([order, between]) => {
      const history: Action[] = order.map((at) => ({ type: 'deliver', place: at }));
      for (const [at, action] of between) history.splice(at % (history.length + 1), 0, action);
      return history;
    });
}

function broken(
  history: History,
  timed: readonly Happening[],
  { message, cause, given = ['handlers'] }: Failed,
): Error {
  const lines = history.map((action) => {
    if (action.type === 'handled') return 'await kit.handled();';
    if (action.type === 'fail') return 'kit.failNext();';
    if (action.type === 'pass') return "await kit.advance('1h');";
    const [kind, members] = timed[action.place] as Happening;
    return `await kit.deliver('${kind}', ${literal(members ?? {})});`;
  });
  const test = [
    `const kit = await testReceiver({ ${given.join(', ')} });`,
    ...lines,
    'await kit.settled();',
    '// and your check',
  ];
  const pasted = test.map((line) => `  ${line}`).join('\n');
  return new Error(`this history breaks the check:\n\n${pasted}\n\n${message}`, { cause });
}

/** As it stands in a source file. */
function literal(members: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(members).map(
    ([name, value]) => `${name}: ${JSON.stringify(value).replaceAll('"', "'")}`,
  );
  return `{ ${pairs.join(', ')} }`;
}
