import type { CrashPlace, CrashPoint } from './crash-points.ts';
import { type CrashPlan, type KitOptions, TestReceiver } from './test-receiver.ts';

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
  { except = [], only }: EveryCrashOptions = {},
): Promise<PointName[]> {
  const learned: PointName[] = [];
  const learning = namesOf();
  const learn: CrashPlan = (point) => {
    const name = learning(point);
    if (!except.includes(point.place)) learned.push(name);
    return false;
  };
  await play(scenario, check, learn).catch((cause) => {
    throw new Error(`without any crash, the check fails: ${textOf(cause)}`, { cause });
  });
  const points = only === undefined ? learned : learned.filter((name) => name === only);
  if (points.length === 0)
    throw new Error(`the scenario has no point "${only}": it has ${learned.join(', ')}`);
  for (const name of points) await playCrash(scenario, check, name);
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
  try {
    await play(scenario, check, crash);
  } catch (cause) {
    throw new Error(
      `a crash ${name} breaks the check.\nTo see it alone: everyCrash(scenario, check, { only: ${JSON.stringify(name)} })\n${textOf(cause)}`,
      { cause },
    );
  }
  if (!isReached)
    throw new Error(`the scenario takes another way each time: it did not come to "${name}" again`);
}

/** Plays a scenario to its end, and checks. */
export async function play<W>(scenario: Scenario<W>, check: Check<W>, plan: CrashPlan): Promise<void> {
  const started: TestReceiver[] = [];
  try {
    const world = await scenario(async (options) => {
      const kit = await TestReceiver.start(options, plan);
      started.push(kit);
      return kit;
    });
    const [kit] = started;
    if (!kit) throw new Error('the scenario starts no receiver: it must call start(options)');
    for (const one of started) await one.settled();
    await check(kit, world);
  } finally {
    for (const kit of started) await kit.stop();
  }
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

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
