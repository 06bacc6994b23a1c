import { messageOf } from '../base/errors.ts';
import { type CrashPlace, type CrashPoint, PLACES } from './crash-points.ts';
import type { KitOptions } from './kit-options.ts';
import { type CrashPlan, TestReceiver } from './test-receiver.ts';

/** Starts the receiver of a scenario, in place of `testReceiver`. */
export type Start = (options: KitOptions) => Promise<TestReceiver>;

/**
 * Something that happens to a receiver. It starts the receiver and makes whatever handlers work on afresh, as it is played
 * again and again. @returns what the check needs
 */
export type Scenario<W> = (start: Start) => Promise<W>;

/** Throws if something is wrong at the end. */
export type Check<W> = (kit: TestReceiver, world: W) => void | Promise<void>;

export interface EveryCrashOptions {
  /**
   * places at which it does not die. A step that is not idempotent cannot survive `between step`: it runs again, since
   * nobody knows whether it ran
   */
  readonly except?: readonly CrashPlace[];
  /** whether events may end as dead; without it, that breaks the check */
  readonly mayDie?: boolean;
  /** plays only this point, by the name that an error gives it */
  readonly only?: string;
}

/** A point of a scenario, by a name that is the same each time it is played: `between step charge`, `after record media_available #2`. */
type PointName = string;

/**
 * Plays a scenario once and learns every point at which the receiver's process could die. Then plays it again for each point,
 * kills the process there, starts it again at once, lets everything settle, and checks.
 * @returns the names of all points
 * @throws Error naming the point whose crash breaks the check; its cause is the error of the check
 * @example
 * await everyCrash(
 *   async (start) => {
 *     const bank = new FakeBank();
 *     const kit = await start({ handlers: charging(bank) });
 *     await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
 *     return bank;
 *   },
 *   (_kit, bank) => assert.equal(bank.charges.size, 1),
 * );
 */
export async function everyCrash<W>(
  scenario: Scenario<W>,
  check: Check<W>,
  { except = [], only, mayDie = false }: EveryCrashOptions = {},
): Promise<PointName[]> {
  const odd = except.find((place) => !PLACES.includes(place));
  if (odd !== undefined)
    throw new TypeError(`there is no place "${odd}": the places are ${PLACES.join(', ')}`);
  const checked = mayDie ? check : unlessDead(check);
  const learned: PointName[] = [];
  const learning = namesOf();
  const learn: CrashPlan = (point) => {
    const name = learning(point);
    if (!except.includes(point.place)) learned.push(name);
    return false;
  };
  const failed = await play(scenario, checked, learn);
  if (failed)
    throw new Error(`without any crash, the check fails: ${failed.message}`, { cause: failed.cause });
  if (learned.length === 0) throw new Error('the scenario brings about no event: deliver something');
  const points = only === undefined ? learned : learned.filter((name) => name === only);
  if (points.length === 0)
    throw new Error(`the scenario has no point "${only}": it has ${learned.join(', ')}`);
  for (const name of points) await playCrash(scenario, checked, name);
  return learned;
}

async function playCrash<W>(scenario: Scenario<W>, check: Check<W>, name: PointName): Promise<void> {
  const naming = namesOf();
  let isReached = false;
  const crash: CrashPlan = (point) => {
    if (naming(point) !== name || isReached) return false;
    isReached = true;
    return true;
  };
  const failed = await play(scenario, check, crash);
  if (failed) {
    throw new Error(
      `a crash ${name} breaks the check.\nTo see it alone: everyCrash(scenario, check, { only: ${JSON.stringify(name)} })\n${failed.message}`,
      { cause: failed.cause },
    );
  }
  if (!isReached)
    throw new Error(`the scenario takes another way each time: it did not come to "${name}" again`);
}

/** A check that failed. */
export interface Failed {
  /** what it said, and how the events have ended that are not handled */
  readonly message: string;
  readonly cause: unknown;
  /** the names of the options of the receiver */
  readonly given?: readonly string[];
}

/**
 * Plays a scenario to its end, and checks.
 * @param then what happens to its receiver once the scenario is over
 * @returns undefined if the check holds @throws the error of the scenario itself; it says nothing about the handlers
 */
export async function play<W>(
  scenario: Scenario<W>,
  check: Check<W>,
  plan: CrashPlan,
  then: (kit: TestReceiver) => Promise<void> = async () => {},
): Promise<Failed | undefined> {
  const started: TestReceiver[] = [];
  let given: readonly string[] = [];
  try {
    const world = await scenario(async (options) => {
      given = Object.keys(options);
      const kit = await TestReceiver.start(options, plan);
      started.push(kit);
      return kit;
    });
    const [kit] = started;
    if (!kit) throw new Error('the scenario starts no receiver: it must call start(options)');
    await then(kit);
    for (const one of started) await one.settled();
    try {
      await check(kit, world);
      return undefined;
    } catch (cause) {
      return { message: [messageOf(cause), ...(await endsOf(kit))].join('\n'), cause, given };
    }
  } finally {
    for (const kit of started) await kit.stop();
  }
}

/** A line for each event that was not handled. */
async function endsOf(kit: TestReceiver): Promise<string[]> {
  const others = (await kit.events()).filter(({ status }) => status !== 'handled');
  return others.map(({ kind, resource, status, attempts, lastError }) => {
    const [first = ''] = (lastError ?? '').split('\n');
    return `${kind} of ${resource} is ${status} after ${attempts} attempts: ${first}`;
  });
}

/** A check that an event which ends as dead breaks, too. */
export function unlessDead<W>(check: Check<W>): Check<W> {
  return async (kit, world) => {
    await check(kit, world);
    const dead = await kit.events({ status: 'dead' });
    if (dead.length > 0) throw new Error('events have ended as dead; { mayDie: true } lets them');
  };
}

/** Names points one after the other. */
function namesOf(): (point: CrashPoint) => PointName {
  const seen = new Map<string, number>();
  return ({ place, what }) => {
    const name = `${place} ${what}`;
    const count = 1 + (seen.get(name) ?? 0);
    seen.set(name, count);
    return count === 1 ? name : `${name} #${count}`;
  };
}
